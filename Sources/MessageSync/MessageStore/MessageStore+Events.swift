public import UpdateMachine

// Applies events. Every list decides anew about each message that an event names (R1), even if no
// value has changed.

extension MessageStore {
  /// Applies one event. Events must come in log order, each once. The client
  /// says when an answer is complete (`ListInput.answered`).
  @inlinable
  public mutating func apply(_ event: Event) {
    _revision += 1
    if case .covered(let channel, let follows) = event {
      return cover(channel, follows: follows)
    }
    note(.event(event))
    answer.note(event)
    if case .flaggedAll(let flags, let isSet) = event {
      forgetUnloaded()
      flagAll(flags, isSet)
    } else {
      for (id, touch) in touches(of: event) {
        if hasUnloaded { dropUnloaded(id) }
        apply(touch, to: id)
      }
    }
  }

  /// Notes that a poll has left. Its answer will have every event committed before now (R13).
  @inlinable
  package mutating func asked() { audit.asked() }

  /// Notes that the answer to the last poll has been applied, whole and as the server made it. The
  /// answer may be empty.
  @inlinable
  package mutating func answered() {
    answeredInPart()
    audit.answered()
    for (id, polls) in ahead where polls < audit.polls { ahead.removeValue(forKey: id) }
  }

  /// Notes that an answer has been applied, after which the server has more. It is no evidence
  /// about pages: what explains them may be in the rest.
  @inlinable
  package mutating func answeredInPart() {
    if hasUnloaded {
      for id in idsInUse { dropUnloaded(id) }
    }
    settleFlags()
  }

  // MARK: One message

  @inlinable
  mutating func apply(_ touch: Touch, to id: MessageID) {
    audit.end(id)
    switch touch {
    case .replaced(let message):
      var new = Held(message)
      new.take(touch)
      ahead.removeValue(forKey: id)
      if isWanted(id) { hold(new, doubt: []) } else { release(id) }
      unheldDoubts.removeValue(forKey: id)
    case .gone(let place):
      for listKey in lists.keys(where: { $0.shows(id) || $0.isHole(id) }) {
        lists.modifyValue(forKey: listKey) { listed in
          // The snapshot of a place that is not followed may be newer than the event.
          if let place, place.channel == listed.narrow.channel {
            let there = Touch.arrived(place).partialMessage(of: id)
            if listed.narrow.verdict(on: there) != .no { return }
          }
          // A copy moves on to another place without events.
          if let place, var copy = listed.beside[id] {
            copy.place = place
            return listed.show(Replay.Copy(held: Held(copy), doubt: []))
          }
          listed.list.erase(id)
          listed.copies.removeValue(forKey: id)
          listed.beside.removeValue(forKey: id)
          listed.closeHole(id)
        }
      }
      former.removeValue(forKey: id)
      release(id)
      unheldDoubts.removeValue(forKey: id)
    case .arrived:
      release(id)
      let partialMessage = touch.partialMessage(of: id)
      forEachList(
        where: { $0.list.speaks(of: id) || $0.list.hides(id) },
        { listed in
          listed.list.remove(id)
          listed.beside.removeValue(forKey: id)
          if listed.narrow.verdict(on: partialMessage) != .no { listed.mayHave(id) }
        })
    case .moved, .edited, .flagged, .reacted, .doubted:
      guard var changed = held[id] else {
        changeCopies(touch, of: id)
        return hear(touch, ofUnheld: id)
      }
      var doubt = doubt(about: id)
      changed.take(touch)
      touch.settleFeed(&changed.message.flags, &doubt)
      if touch.mayExplainLack, ahead.contains(id), changed.message.flags.contains(.outsideFeed) {
        doubt.insert(.outsideFeed)
      }
      if !doubt.isEmpty { doubts[id] = doubt }
      hold(changed, doubt: doubt)
    }
  }

  /// Holds a message with these values and updates every list. The caller stores the flags in
  /// doubt.
  @inlinable
  mutating func hold(_ new: Held, doubt: MessageFlags) {
    let id = new.message.id
    let old = held.updateValue(new, forKey: id)
    newest = max(newest ?? id, id)
    if doubt.isEmpty { doubts.removeValue(forKey: id) }
    let (before, now) = (old?.message.place.channel, new.message.place.channel)
    decide(new, doubt, in: nil)
    if let now { decide(new, doubt, in: now) }
    if let before, before != now { decide(new, doubt, in: before) }
  }

  /// Updates the lists of one channel, or those without a channel.
  @inlinable
  mutating func decide(_ new: Held, _ doubt: MessageFlags, in channel: ChannelID?) {
    let all = PartialMessage(new.message)
    let id = all.id
    forEachList(
      in: ListKey.all(of: channel),
      where: {
        $0.list.ids.contains(id) || $0.list.copied.contains(id)
          || !doubt.isEmpty && $0.list.knowledge.contains(id) || $0.narrow.verdict(on: all) == .yes
      },
      { $0.decide(all, doubt: doubt) })
  }

  /// Handles news of a message that is not held. Lists that may have gained it no longer know its
  /// ID (R7).
  @inlinable
  mutating func hear(_ touch: Touch, ofUnheld id: MessageID) {
    let partialMessage = touch.partialMessage(of: id)
    let fields = touch.fields
    forEachList(
      where: { listed in
        guard listed.list.knowledge.contains(id) else {
          return listed.isHole(id) || listed.list.hides(id)
        }
        return listed.reads.overlaps(fields) || touch.mayBringIntoFeed && listed.reads(.outsideFeed)
      },
      { listed in
        guard listed.reads.overlaps(fields) else {
          let gained = MessageStore.gained(partialMessage)
          if touch.mayBringIntoFeed, listed.list.knowledge.contains(id),
            listed.narrow.verdict(on: gained) != .no
          {
            listed.mayHave(id)
          }
          return
        }
        if listed.narrow.verdict(on: partialMessage) == .no {
          listed.closeHole(id)
        } else {
          listed.mayHave(id)
        }
      })
  }

  /// Whether a new message must be held. It must if a list knows or hides its ID, if it is held
  /// already, or if a fetch is open, because the page may be older (R6).
  @inlinable
  func isWanted(_ id: MessageID) -> Bool {
    if !fetches.isEmpty || held.contains(id) { return true }
    return lists.hasValue { $0.list.knowledge.contains(id) || $0.list.hides(id) }
  }

  // MARK: All messages

  @inlinable
  mutating func flagAll(_ flags: MessageFlags, _ isSet: Bool) {
    audit.endAll()
    var changed: [MessageID] = []
    for (id, old) in held {
      var new = old
      new.message.flags.assign(flags, isSet)
      guard new.message.flags != old.message.flags else { continue }
      held[id] = new
      changed.append(id)
    }
    // About unheld messages only the event's flags are known.
    var anyone = PartialMessage<Content>(MessageID(0))
    anyone.flags = isSet ? flags : []
    anyone.flagsShown = flags
    let (held, doubts) = (held, doubts)
    changeAllCopies(flags, isSet)
    // A list that reads none of these flags does not change.
    forEachList(
      where: { $0.reads(flags) },
      { listed in
        for id in changed {
          guard let message = held[id]?.message else { continue }
          listed.decide(PartialMessage(message), doubt: doubts[id] ?? [])
        }
        if listed.narrow.verdict(on: anyone) != .no {
          listed.list.forgetAll()
          listed.beside = VersionedMap()
        }
      })
  }

  // MARK: A channel

  /// Begins or ends following a channel (R11). Every open fetch is abandoned, because its page may
  /// be from a time without events. Messages that may be ahead of the finger are dropped: their
  /// place now does not show where they were in between.
  @inlinable
  mutating func cover(_ channel: ChannelID, follows: Bool) {
    abandonFetches()
    forgetUnloaded()
    var somewhere = PartialMessage<Content>(MessageID(0))
    somewhere.channel = channel
    var lost: [MessageID] = []
    for (id, held) in held where held.message.place.channel == channel { lost.append(id) }
    for (listKey, listed) in lists where listed.narrow.verdict(on: somewhere) != .no {
      lists[listKey] = forgotten(listed, in: channel)
    }
    // No list contains them any more: each list that could was made anew.
    for id in lost { release(id) }
    for (id, _) in ahead { drop(id) }
    followed.removeAll { $0 == channel }
    if follows { followed = (followed + [channel]).sorted() }
  }

  /// Returns a list that knows nothing. Its messages of the channel can still be read.
  @inlinable
  func forgotten(_ listed: Listed, in channel: ChannelID) -> Listed {
    var next = Listed(forgetting: listed)
    for (id, present) in listed.list.ids {
      guard let message = held[id]?.message else { continue }
      if message.place.channel == channel {
        next.copies[id] = message
      } else {
        next.list.insert(id)
      }
      _ = present
    }
    return next
  }
}

extension MessageStore.Listed {
  /// Learns that an ID is not in the narrow, if the ID is a hole.
  @inlinable
  mutating func closeHole(_ id: MessageID) {
    if isHole(id) { list.learn(IDInterval(id)) }
  }

  /// Notes that a message that is not held may be in the narrow now, even if it was hidden before.
  @inlinable
  mutating func mayHave(_ id: MessageID) {
    list.forget(id)
    list.noteVisible(id)
  }

  /// Whether the ID is a hole: unknown between two known IDs.
  @inlinable
  func isHole(_ id: MessageID) -> Bool {
    !list.knowledge.contains(id) && id.number > .min + 1 && id.number < .max - 1
      && list.knowledge.contains(MessageID(id.number - 1))
      && list.knowledge.contains(MessageID(id.number + 1))
  }

  /// Whether the list shows the ID, at least as former or as a copy.
  @inlinable
  func shows(_ id: MessageID) -> Bool {
    list.ids.contains(id) || list.former?.ids.contains(id) ?? false || copies.contains(id)
      || beside.contains(id)
  }

  /// Whether the narrow depends on any of these flags.
  @inlinable
  func reads(_ flags: MessageFlags) -> Bool { !reads.flags.isDisjoint(with: flags) }

  /// Puts a held message into the list or takes it out. If flags in doubt decide, its ID becomes
  /// unknown.
  @inlinable
  mutating func decide(_ all: PartialMessage<Narrow.Content>, doubt: MessageFlags) {
    beside.removeValue(forKey: all.id)
    if narrow.verdict(on: all) == .yes { list.insert(all.id) } else { list.remove(all.id) }
    guard !doubt.isEmpty else { return }
    var certain = all
    certain.flags.subtract(doubt)
    certain.flagsShown.subtract(doubt)
    if narrow.verdict(on: certain) == .unknown { list.forget(all.id) }
  }
}
