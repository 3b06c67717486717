#include "server/persistence/log/log_job.h"

#include <new>
#include <system_error>
#include <utility>

#include "core/base/out_of_memory.h"
#include "core/base/thread_name.h"

namespace bitsieve::server {

bool LogJob::Begin(Work work, OnEnd on_end) {
  outcome_ = {};  // waits for the thread of the job before
  is_done_.store(false);
  try {
    outcome_ = std::async(std::launch::async, [this, work = std::move(work), on_end = std::move(on_end)] {
      core::NameThread("log-job");
      core::Status outcome = core::OrOutOfMemory(work);
      is_done_.store(true);
      on_end(outcome);
      return outcome;
    });
    return true;
  } catch (const std::system_error&) {
  } catch (const std::bad_alloc&) {
  }
  return false;
}

}  // namespace bitsieve::server
