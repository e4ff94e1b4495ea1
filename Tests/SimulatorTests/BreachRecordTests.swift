import MessageSync
import Simulator
import Testing
import UpdateMachine

/// Tests what oracle B excuses if a server breaks its contract, and what it does not
/// (PartialKnowledge R13).
@Suite struct BreachRecordTests {
  typealias Store = MessageStore<ServerMessages.Narrow>

  /// One server, and one client that hears everything announced and holds everything there is.
  struct Scene {
    var history: [ServerMessages]
    var store = Store(following: [ChannelID(1), ChannelID(2)])
    var oracle = IntervalOracle()
    let all = ServerMessages.Narrow()

    init(_ messages: Int64...) {
      history = [ServerMessages(following: [ChannelID(1), ChannelID(2)], hidden: [])]
      store.open(all)
      for id in messages { commit(.sent(id, to: Tale.a)) }
      look()
    }

    var truth: ServerMessages { history[history.count - 1] }
    var position: Int64 { Int64(history.count) - 1 }

    mutating func commit(_ change: ServerMessages.Change) {
      oracle.note(change, from: truth, at: position + 1)
      let event = truth.announcement(of: change)
      var next = truth
      next.apply(change)
      history.append(next)
      store.asked()
      if let event { store.apply(event) }
      store.answered()
      oracle.noteHeld(by: store, at: position)
    }

    mutating func look() {
      let request = PageRequest<ServerMessages.Narrow, MessageID>(
        all, .newest, before: 100, after: 0)
      let fetch = RequestID(incarnation: Incarnation(1), part: .pages, number: UInt64(position))
      store.begin(fetch, request)
      let before = store
      let page = truth.page(request, later: truth)
      _ = store.take(page, for: fetch)
      oracle.notePage(page, for: request, at: position, from: before, to: store)
      oracle.noteHeld(by: store, at: position)
    }

    var objection: String? { oracle.objection(to: store, at: position, history)?.found }
    var afterLooks: String? { oracle.objectionAfterLooks(to: store, truth)?.found }
    /// The version grows with every third change.
    mutating func pause() { for _ in 0..<3 { commit(.reacted(999)) } }
  }

  @Test func `an unannounced change is excused until it is announced or looked at twice`() {
    var scene = Scene(1, 2)
    scene.commit(.untold(.starred(1)))
    #expect(scene.objection == nil)
    #expect(scene.afterLooks == "flags wrong: 1/a 1 +0")
    #expect(scene.oracle.maySuspect(MessageID(1)))
    #expect(!scene.oracle.maySuspect(MessageID(2)))
    // An event assigns the field. From here on there is no excuse.
    scene.commit(.unstarred(1))
    scene.commit(.starred(1))
    #expect(scene.objection == nil)
    #expect(scene.afterLooks == nil)
    scene.store.apply(.flagged([MessageID(1)], .starred, isSet: false))
    #expect(scene.objection == "flags wrong: 1/a 1 +0")
  }

  @Test func `a breach excuses no other message of the server`() {
    var scene = Scene(1, 2)
    scene.commit(.untold(.starred(1)))
    scene.store.apply(.flagged([MessageID(2)], .starred, isSet: true))
    #expect(scene.objection == "flags wrong: 1/a 2 +2")
  }

  @Test func `an old row excuses what no event has said, but neither flags nor existence`() {
    var scene = Scene(1)
    scene.commit(.aged(scene.truth[MessageID(1)]!))
    scene.store.apply(
      .updated(MessageUpdate(MessageUpdate.Edit(MessageID(1), content: 9), version: 9)))
    #expect(scene.objection == nil)
    scene.commit(.edited(1, 5))
    #expect(scene.objection == nil)
    #expect(scene.afterLooks == nil)
    scene.commit(.aged(scene.truth[MessageID(1)]!))
    scene.store.apply(
      .updated(MessageUpdate(MessageUpdate.Edit(MessageID(1), content: 9), version: 9)))
    #expect(scene.objection == "content wrong: 1/a 9 +0")
    scene.store.apply(.flagged([MessageID(1)], .read, isSet: true))
    #expect(scene.afterLooks == "content wrong: 1/a 9 +1")
  }

  @Test func `a held message that is gone is excused until it was looked at twice`() {
    var scene = Scene(1, 2)
    scene.commit(.untold(.deleted(1)))
    #expect(scene.objection == nil)
    #expect(scene.afterLooks == "it is held: 1/a 1 +0")
    scene.commit(.untold(.sent(3, to: Tale.a)))
    #expect(scene.objection == nil)
    scene.store.drop(MessageID(1))
    #expect(scene.afterLooks == "nothing is held")
  }

  @Test func `an error that cannot be repaired stays excused after two looks, others do not`() {
    var scene = Scene(1, 2)
    scene.commit(.reacted(1))
    scene.commit(.untold(.reacted(1, isSet: false)))
    #expect(scene.afterLooks == nil)
    scene.commit(.untold(.reacted(1, by: 2)))
    #expect(scene.afterLooks == "reactions wrong: 1/a 1 +0 1")
    scene = Scene(1, 2)
    while scene.position % 3 != 0 { scene.commit(.reacted(999)) }
    scene.commit(.edited(1, 5))
    // First a change with the same version, then one with a greater version.
    scene.commit(.untold(.edited(1, 6)))
    #expect(scene.truth[MessageID(1)]?.version == scene.store[MessageID(1)]?.version)
    #expect(scene.afterLooks == nil)
    scene.pause()
    scene.commit(.untold(.edited(1, 7)))
    #expect(scene.afterLooks == "content wrong: 1/a 5 +0")
    scene.commit(.untold(.moved(2, to: Tale.b)))
    scene.commit(.edited(1, 8))
    #expect(scene.afterLooks == "place wrong: 1/a 2 +0")
  }

  @Test func `pages show old rows with true flags, until the message changes or the cache is new`()
  {
    var scene = Scene(1)
    let old = scene.truth[MessageID(1)]!
    scene.commit(.edited(1, 5))
    scene.commit(.aged(old))
    scene.commit(.starred(1))
    let request = PageRequest<ServerMessages.Narrow, MessageID>(MessageID(1))
    let shown = scene.truth.page(request, later: scene.truth).messages[0]
    #expect(shown.content == 1 && shown.version == 0 && shown.flags == .starred)
    #expect(scene.truth[MessageID(1)]?.content == 5)
    var renewed = scene.truth
    renewed.apply(.renewed)
    #expect(renewed.page(request, later: renewed).messages == [scene.truth[MessageID(1)]!])
    scene.commit(.reacted(1))
    #expect(scene.truth.page(request, later: scene.truth).messages[0].content == 5)
  }
}
