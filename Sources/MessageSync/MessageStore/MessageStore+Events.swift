public import UpdateMachine

// What events change. Whatever names a message decides anew, for every list, whether it is in it
// (R1): never "the value is the same already".

extension MessageStore {
  /// Applies one event. Events come in the order of the log, each once; after the last of an answer
  /// comes ``answered()``.
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

  /// A poll has left: what is asked from here on is news of a later time (R13).
  @inlinable
  public mutating func asked() { audit.asked() }

  /// The answer to the last poll has been applied, whole, as the server made it. It may have been
  /// empty.
  @inlinable
  public mutating func answered() {
    if hasUnloaded {
      for id in idsInUse { dropUnloaded(id) }
    }
    settleFlags()
    audit.answered()
    for (id, polls) in ahead where polls < audit.polls { ahead.removeValue(forKey: id) }
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
      strange.removeValue(forKey: id)
    case .gone:
      for shelf in lists.keys(where: { $0.shows(id) || $0.isHole(id) }) {
        lists.modifyValue(forKey: shelf) { listed in
          listed.list.erase(id)
          listed.copies.removeValue(forKey: id)
          listed.closeHole(id)
        }
      }
      former.removeValue(forKey: id)
      release(id)
      strange.removeValue(forKey: id)
    case .arrived:
      release(id)
      let glimpse = touch.glimpse(of: id)
      forEachList(
        where: { $0.list.speaks(of: id) },
        { listed in
          listed.list.remove(id)
          if listed.narrow.verdict(on: glimpse) != .no { listed.list.forget(id) }
        })
    case .moved, .edited, .flagged, .reacted, .doubted:
      guard var changed = held[id] else { return hear(touch, ofUnheld: id) }
      changed.take(touch)
      hold(changed, doubt: doubt(about: id))
    }
  }

  /// A message is held with these values from here on: every list hears of it. Its flags in doubt
  /// are remembered by the caller.
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

  /// For the lists of one channel, or of none.
  @inlinable
  mutating func decide(_ new: Held, _ doubt: MessageFlags, in channel: ChannelID?) {
    let all = MessageGlimpse(new.message)
    let id = all.id
    forEachList(
      in: Shelf.all(of: channel),
      where: {
        $0.list.ids.contains(id) || !doubt.isEmpty && $0.list.knowledge.contains(id)
          || $0.narrow.verdict(on: all) == .yes
      },
      { $0.decide(all, doubt: doubt) })
  }

  /// A list may have gained a message that nobody holds: it is known no more whether it has (R7).
  @inlinable
  mutating func hear(_ touch: Touch, ofUnheld id: MessageID) {
    let glimpse = touch.glimpse(of: id)
    let fields = touch.fields
    forEachList(
      where: { listed in
        guard listed.list.knowledge.contains(id) else { return listed.isHole(id) }
        return listed.reads.overlaps(fields)
      },
      { listed in
        guard listed.narrow.reads.overlaps(touch.fields) else { return }
        if listed.narrow.verdict(on: glimpse) == .no {
          listed.closeHole(id)
        } else {
          listed.list.forget(id)
        }
      })
  }

  /// A new message is held if it can be missed: a list knows of its ID, or a page may be on its way
  /// that is older (R6).
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
    // Of those that are not held it is only known what the event says.
    var anyone = MessageGlimpse<Content>(MessageID(0))
    anyone.flags = isSet ? flags : []
    anyone.flagsShown = flags
    let (held, doubts) = (held, doubts)
    // A list that reads none of these flags has what it had; but see ``PartialList/insert(_:)``.
    forEachList(
      where: { $0.reads(flags) || $0.list.historyLimit != nil },
      { listed in
        for id in changed {
          guard let message = held[id]?.message else { continue }
          listed.decide(MessageGlimpse(message), doubt: doubts[id] ?? [])
        }
        if listed.reads(flags), listed.narrow.verdict(on: anyone) != .no { listed.list.forgetAll() }
      })
  }

  // MARK: A channel

  /// From here on the server sends events about a channel, or none any more (R11). Every page that
  /// is out may be of a time in which we were not told: it is given up. So is what a page has brought
  /// that may be ahead of the finger: where it stands now does not show where it stood in between.
  @inlinable
  mutating func cover(_ channel: ChannelID, follows: Bool) {
    abandonFetches()
    forgetUnloaded()
    var somewhere = MessageGlimpse<Content>(MessageID(0))
    somewhere.channel = channel
    var lost: [MessageID] = []
    for (id, held) in held where held.message.place.channel == channel { lost.append(id) }
    for (shelf, listed) in lists where listed.narrow.verdict(on: somewhere) != .no {
      lists[shelf] = forgotten(listed, in: channel)
    }
    // No list has one of them any more: those that could have were made anew.
    for id in lost { release(id) }
    for (id, _) in ahead { drop(id) }
    followed.removeAll { $0 == channel }
    if follows { followed = (followed + [channel]).sorted() }
  }

  /// A list of which nothing is known any more. What it showed of the channel can still be read.
  @inlinable
  func forgotten(_ listed: Listed, in channel: ChannelID) -> Listed {
    var next = Listed(narrow: listed.narrow)
    next.list = PartialList(forgetting: listed.list)
    next.copies = listed.copies
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
  /// It has become certain that an ID is not in the narrow: between two that are known it is no hole
  /// any more.
  @inlinable
  mutating func closeHole(_ id: MessageID) {
    if isHole(id) { list.learn(Interval(id)) }
  }

  /// Whether it is all that is not known between two IDs that are.
  @inlinable
  func isHole(_ id: MessageID) -> Bool {
    !list.knowledge.contains(id) && id.number > .min + 1 && id.number < .max - 1
      && list.knowledge.contains(MessageID(id.number - 1))
      && list.knowledge.contains(MessageID(id.number + 1))
  }

  /// Whether it can be seen in the list, if only as what was there formerly.
  @inlinable
  func shows(_ id: MessageID) -> Bool {
    list.ids.contains(id) || list.former?.ids.contains(id) ?? false || copies.contains(id)
  }

  /// Whether what is in it hangs on one of these flags.
  @inlinable
  func reads(_ flags: MessageFlags) -> Bool { !reads.flags.isDisjoint(with: flags) }

  /// A message is held with these values: it is in the list, or is not. Where that hangs on flags in
  /// doubt, it is not known.
  @inlinable
  mutating func decide(_ all: MessageGlimpse<Narrow.Content>, doubt: MessageFlags) {
    if narrow.verdict(on: all) == .yes { list.insert(all.id) } else { list.remove(all.id) }
    guard !doubt.isEmpty else { return }
    var certain = all
    certain.flags.subtract(doubt)
    certain.flagsShown.subtract(doubt)
    if narrow.verdict(on: certain) == .unknown { list.forget(all.id) }
  }
}
