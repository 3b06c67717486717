#include "server/commands/weigh_server.h"

#include "commands/weigh.h"
#include "server/session/client_list.h"

namespace bitsieve::server {

using namespace commands;

Weight WeighClients(ServerContext& context) {
  return context.server.clients->Size() > kManyClients ? Weight::kMany : WeighArguments(context);
}

Weight WeighNames(ServerContext& context) {
  return context.keyspace().Size() > kManyNames ? Weight::kLarge : Weight::kLight;
}

}  // namespace bitsieve::server
