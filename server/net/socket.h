// socket.h: Asio's socket types, bound to the io_context as it is. The plain tcp::socket goes through a type-erased
// executor, which costs on every wait and is of no use here.
#pragma once

#include <asio/basic_socket_acceptor.hpp>
#include <asio/basic_stream_socket.hpp>
#include <asio/io_context.hpp>
#include <asio/ip/tcp.hpp>

namespace bitsieve::server {

using Socket = asio::basic_stream_socket<asio::ip::tcp, asio::io_context::executor_type>;
using Acceptor = asio::basic_socket_acceptor<asio::ip::tcp, asio::io_context::executor_type>;

}  // namespace bitsieve::server
