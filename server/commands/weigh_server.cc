#include "server/commands/weigh_server.h"

#include "commands/weigh.h"
#include "server/namespace.h"
#include "server/session/client_list.h"

namespace bitsieve::server {

Weight WeighClients(ServerContext& context) {
  return context.server.clients->Size() > kManyClients ? Weight::kMany : WeighArguments(context);
}

Weight WeighNames(ServerContext& context) {
  return context.keyspace().Size() > kManyNames ? Weight::kLarge : Weight::kLight;
}

}  // namespace bitsieve::server
