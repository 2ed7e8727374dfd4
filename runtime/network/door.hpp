// The door: the only way by which a connection reaches CAF. All of it at once,
// for those who open it.
//
//   door_listener   lets agents and operators in: on TCP by secret, on a Unix
//                   socket by user
//   connect         gets in elsewhere
//   life_listener,  whether another process is still there
//   probe
#pragma once

#include "runtime/network/connector.hpp"
#include "runtime/network/listener.hpp"
#include "runtime/network/liveness.hpp"
