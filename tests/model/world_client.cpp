// What becomes of a client: its inputs go to the core, and the effects into the world.
#include <algorithm>
#include <bit>
#include <string>
#include <utility>

#include "base/assert.h"
#include "model/world.h"

namespace redlock::model {
namespace {

bool sets_key(Ask kind) {
  return kind == Ask::acquire || kind == Ask::heal;
}

std::uint8_t largest_of(std::uint32_t numbers) {
  return static_cast<std::uint8_t>(std::bit_width(numbers) - (numbers == 0 ? 0 : 1));
}

}  // namespace

void World::break_promise(Property property, std::string what) {
  if ((rules_.properties & property) == 0 || broken_) return;
  broken_ = Violation{property, std::move(what)};
}

void World::begin(std::uint8_t index, std::uint8_t floor) {
  Client& client = now_->clients[index];
  client.lease = memory_.fresh();
  client.age = 0;
  ++client.run;
  client.floor = floor;
  client.must_exceed = largest_of(now_->granted);
  feed(index, {.kind = Input::begin});
}

/// The process ends; what it has sent outlives it, and its successor has connections of its own.
void World::end_process(std::uint8_t index, bool killed) {
  for (std::uint8_t node = 0; node < kNodes; ++node) {
    make_ghosts(index, node, killed);
    now_->places[node].links[index] = {};
  }
  now_->clients[index] = {.run = now_->clients[index].run};
}

void World::take_reply(std::uint8_t index, std::uint8_t node) {
  Link& link = now_->places[node].links[index];
  const Client& client = now_->clients[index];
  const Message message = link.messages[0];
  link.messages = {link.messages[1], Message{}};
  if (rules_.timed && message.kind == Ask::renew) {
    const auto sent = static_cast<std::int32_t>(memory_.sent_before(client.lease, node, false));
    const bool granted = message.answer == static_cast<std::uint8_t>(core::Answer::granted);
    (granted ? link.confirmed : link.missing) = std::min(sent + client.age, kLongAgo);
  }
  feed(index, {.kind = Input::answer,
               .node = node,
               .release = message.kind == Ask::release,
               .answer_is = message.answer,
               .number = message.number,
               .raised = message.raised,
               .holder = message.holder,
               .remaining = message.remaining});
}

/// Without a clock, the client's own moves on to its wakeup.
void World::tick(std::uint8_t index) {
  Client& client = now_->clients[index];
  if (!rules_.timed) {
    client.age = static_cast<std::int32_t>(std::max<std::int64_t>(next_tick(client), 0));
  }
  const LeaseId before = client.lease;
  const std::int32_t age = client.age;
  feed(index, {.kind = Input::tick});
  if (client.lease == before && age == 0 && next_tick(client) <= 0) {
    break_promise(no_deadlock, "a wakeup leads to itself");
  }
}

void World::feed(std::uint8_t index, const Input& input) {
  Client& client = now_->clients[index];
  const std::uint8_t attempt = facts(client).attempt;
  const Step& step = memory_.step(client.lease, client.age, input);
  if (fed != nullptr) fed->push_back({index, client.lease, client.age, input, step.lease});
  client.lease = step.lease;
  client.age = 0;
  if (facts(client).attempt != attempt) client.must_exceed = largest_of(now_->granted);
  for (const Effect& effect : step.effects) {
    perform(index, effect);
    if (client.lease == 0) return;
  }
  if (has_said_all(client)) end_process(index, false);
}

/// Without clocks only the way to the grant matters. Behind it a client takes keys away, which
/// expiry does as well, or lets the servers execute what it has sent, as its ghosts do; behind a
/// failed attempt too. So it ends there, and its next run may begin.
bool World::has_said_all(const Client& client) const {
  if (rules_.timed) return false;
  switch (facts(client).state) {
    case core::Lease::State::acquiring:
      return false;
    case core::Lease::State::pausing:
      return at_its_bound(client);
    case core::Lease::State::clearing:
      return facts(client).attempt >= rules_.attempts;
    case core::Lease::State::held:
      return rules_.rounds == 0;
    case core::Lease::State::idle:
      return false;
    case core::Lease::State::lost:
    case core::Lease::State::releasing:
    case core::Lease::State::ended:
      return true;
  }
  return false;
}

void World::perform(std::uint8_t index, const Effect& effect) {
  switch (effect.kind) {
    case Effect::send:
      return send(index, effect);
    case Effect::granted:
      return grant(index, effect);
    case Effect::lost:
      return;
    case Effect::released:
      if (effect.everywhere) check_released_everywhere(index);
      return end_process(index, false);
    case Effect::gave_up:
      return end_process(index, false);
  }
}

void World::send(std::uint8_t index, const Effect& effect) {
  Place& place = now_->places[effect.node];
  Link& link = place.links[index];
  const auto kind = static_cast<Ask>(effect.request);
  const auto same =
      std::count_if(link.messages.begin(), link.messages.end(), [kind](const Message& message) {
        return message.stage != Stage::none &&
               (message.kind == Ask::release) == (kind == Ask::release);
      });
  if (same > 0) break_promise(one_in_flight, "two requests of one sort are under way");
  // What never had the key may take it as long as the lease is valid.
  if (rules_.timed && kind == Ask::heal && link.missing < kLongAgo) {
    std::size_t confirmations = 0;
    for (const Place& other : now_->places) {
      const std::int32_t confirmed = other.links[index].confirmed;
      if (&other != &place && confirmed < kLongAgo && confirmed <= link.missing) ++confirmations;
    }
    if (confirmations < core::quorum_of(kNodes)) {
      break_promise(heal_confirmed, "a key is put back without the confirmations of a quorum");
    }
  }
  const auto free =
      std::find_if(link.messages.begin(), link.messages.end(),
                   [](const Message& message) { return message.stage == Stage::none; });
  if (free == link.messages.end()) {
    return break_promise(one_in_flight, "three requests are under way");
  }
  *free = {.stage = link.up != 0 ? Stage::wire : Stage::waiting,
           .kind = kind,
           .attempt = effect.attempt,
           .fence = effect.fence};
}

void World::grant(std::uint8_t index, const Effect& effect) {
  // What a server has forgotten only the clients' clocks could make up for.
  if (now_->restarts != rules_.restarts) return;
  const std::uint8_t number = effect.fence;
  const std::string text = ": " + std::to_string(number);
  RR_ASSERT(number < 32);
  if ((now_->granted >> number & 1U) != 0) {
    break_promise(fence_unique, "a fencing number is granted twice" + text);
  }
  if (number <= now_->clients[index].must_exceed) {
    break_promise(fence_grows, "a fencing number does not exceed one granted before" + text);
  }
  if (rules_.timed && number <= largest_of(now_->granted)) {
    break_promise(fence_by_grant, "fencing numbers do not grow from grant to grant" + text);
  }
  if (rules_.follow_order) check_order(index, effect);
  now_->granted |= 1U << number;
}

/// Both grants counted this server, so their keys were on it one after the other.
void World::check_order(std::uint8_t index, const Effect& effect) {
  const std::uint8_t tag = tag_of(index, now_->clients[index].run);
  now_->numbers[tag] = effect.fence;
  for (std::size_t node = 0; node < kNodes; ++node) {
    if ((effect.agreeing >> node & 1U) == 0) continue;
    Server& server = now_->places[node].server;
    const auto place_of = [&server](std::uint8_t run) {
      return std::find(server.order.begin(), server.order.end(), run + 1) - server.order.begin();
    };
    for (std::uint8_t other = 0; other < now_->numbers.size(); ++other) {
      if (((static_cast<unsigned>(server.counted) >> other) & 1U) == 0) continue;
      const bool earlier = place_of(other) < place_of(tag);
      const bool smaller = now_->numbers[other] < effect.fence;
      if (earlier != smaller || now_->numbers[other] == effect.fence) {
        break_promise(fence_order, "the keys on a server and the fencing numbers differ in order");
      }
    }
    server.counted = static_cast<std::uint8_t>(server.counted | 1U << tag);
  }
}

void World::check_released_everywhere(std::uint8_t index) {
  if (now_->untidy != 0) return;
  for (const Place& place : now_->places) {
    const bool key =
        place.server.owner == index + 1 && place.server.run == now_->clients[index].run;
    const auto& messages = place.links[index].messages;
    const bool under_way = std::any_of(messages.begin(), messages.end(), [](const Message& one) {
      return one.stage == Stage::wire && sets_key(one.kind);
    });
    if (key || under_way) break_promise(no_key_left, "released everywhere, but for one server");
  }
}

}  // namespace redlock::model
