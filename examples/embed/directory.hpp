// THE HOST'S OWN PROTOCOL, as it was before there were jobs in it: types where
// every manual of CAF lets them begin. A program has one CAF; this one is built
// with both that actorrun knows.
#pragma once

#include <caf/actor_system_config.hpp>
#include <caf/timespan.hpp>
#include <caf/type_id.hpp>
#if CAF_MAJOR_VERSION >= 1
#include <caf/init_global_meta_objects.hpp>
#include <caf/io/middleman.hpp>
#endif

#include <cstdint>
#include <string>
#include <utility>

/// Asks how large a job is now.
struct lookup {
  std::string job;
};

struct placement {
  std::string job;
  uint64_t generation = 0;
  uint32_t world_size = 0; ///< 0: no worker runs.
};

CAF_BEGIN_TYPE_ID_BLOCK(embed, caf::first_custom_type_id)
CAF_ADD_TYPE_ID(embed, (lookup))
CAF_ADD_TYPE_ID(embed, (placement))
CAF_END_TYPE_ID_BLOCK(embed)

#if CAF_MAJOR_VERSION >= 1

template <class Inspector>
bool inspect(Inspector& f, lookup& x) {
  return f.object(x).fields(f.field("job", x.job));
}

template <class Inspector>
bool inspect(Inspector& f, placement& x) {
  return f.object(x).fields(f.field("job", x.job),
                            f.field("generation", x.generation),
                            f.field("world_size", x.world_size));
}

inline void register_own_types(caf::actor_system_config&) {
  caf::core::init_global_meta_objects();
  caf::io::middleman::init_global_meta_objects();
  caf::init_global_meta_objects<caf::id_block::embed>();
}

template <class Self, class To, class T>
auto ask(Self& self, const To& whom, caf::timespan limit, T what) {
  return self->mail(std::move(what)).request(whom, limit);
}

#else

template <class Inspector>
auto inspect(Inspector& f, lookup& x) {
  return f(x.job);
}

template <class Inspector>
auto inspect(Inspector& f, placement& x) {
  return f(x.job, x.generation, x.world_size);
}

inline void register_own_types(caf::actor_system_config& config) {
  config.add_message_types<caf::id_block::embed>();
}

template <class Self, class To, class T>
auto ask(Self& self, const To& whom, caf::timespan limit, T what) {
  return self->request(whom, limit, std::move(what));
}

#endif
