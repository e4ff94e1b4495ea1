import Simulator
import SyncProtocols
import UpdateMachine

// An app under test whose users undo and redo: titles of a few things. It is written with what is
// public.

struct Titles: Equatable, Sendable, CustomStringConvertible {
  var titles: [Int64: Int64] = [:]

  var description: String {
    titles.isEmpty
      ? "empty"
      : titles.sorted { $0.key < $1.key }.map { "\($0.key):\($0.value)" }.joined(separator: " ")
  }
}

/// Titles are numbers, so that chance can draw them.
enum TitleChange: Mutation, Equatable, CustomStringConvertible {
  case write(Int64, title: Int64)
  /// Writes a title to a thing that has none; the others refuse it.
  case claim(Int64, title: Int64)
  case replace(Int64, Int64?, by: Int64?)

  enum Refusal: Error { case taken, changed }

  var name: String {
    switch self {
    case .write: "write"
    case .claim: "claim"
    case .replace: "replace"
    }
  }

  func apply(to state: inout Titles) throws(Refusal) {
    switch self {
    case .write(let thing, let title): state.titles[thing] = title
    case .claim(let thing, let title):
      if state.titles[thing] != nil { throw .taken }
      state.titles[thing] = title
    case .replace(let thing, let old, let new):
      if state.titles[thing] != old { throw .changed }
      state.titles[thing] = new
    }
  }

  func coalesced(with later: TitleChange) -> TitleChange? {
    if case .write(let thing, _) = self, case .write(thing, _) = later { later } else { nil }
  }

  func inverse(from before: Titles, to after: Titles) -> TitleChange? {
    let (old, new) = (before.titles[thing], after.titles[thing])
    return old == new ? nil : .replace(thing, new, by: old)
  }

  var thing: Int64 {
    switch self {
    case .write(let thing, _), .claim(let thing, _), .replace(let thing, _, _): thing
    }
  }

  var description: String {
    switch self {
    case .write(let thing, let title), .claim(let thing, let title): "\(name) \(thing):\(title)"
    case .replace(let thing, let old, let new):
      "replace \(thing):\(old.map { "\($0)" } ?? "none") by \(new.map { "\($0)" } ?? "none")"
    }
  }
}

struct TitleEvent: Sendable {
  var change: TitleChange?
  var client: ClientID?
  var confirmation: MutationConfirmation?
}

struct TitleSnapshot: Sendable {
  var titles: Titles
  var client: ClientID
  var confirmation: MutationConfirmation
}

struct TitleModel: SyncModel, CustomStringConvertible {
  typealias Change = TitleChange
  typealias Snapshot = TitleSnapshot
  typealias Event = TitleEvent
  typealias Refusal = TitleChange.Refusal

  private(set) var state: Titles
  private(set) var client: ClientID?
  private(set) var confirmation: MutationConfirmation

  init(snapshot: TitleSnapshot) {
    (state, client) = (snapshot.titles, snapshot.client)
    confirmation = snapshot.confirmation
  }

  mutating func apply(_ event: TitleEvent) throws(Refusal) {
    try event.change?.apply(to: &state)
    if event.client == client, let news = event.confirmation { confirmation = news }
  }

  var description: String { state.description }
}

struct TitleTruth: SimulatedTruth {
  var titles = Titles()

  mutating func make(
    _ change: TitleChange, by client: ClientProgress?
  ) throws(ChangeRefusal) -> TitleEvent {
    do throws(TitleChange.Refusal) {
      try change.apply(to: &titles)
    } catch {
      throw ChangeRefusal("\(error)")
    }
    return TitleEvent(change: change, client: client?.client, confirmation: client?.confirmation)
  }

  func refusal(to client: ClientProgress) -> TitleEvent {
    TitleEvent(client: client.client, confirmation: client.confirmation)
  }

  func snapshot(for client: ClientProgress) -> TitleSnapshot {
    TitleSnapshot(titles: titles, client: client.client, confirmation: client.confirmation)
  }

  var description: String { titles.description }
}

enum TitleApp: SimulatedOfflineApp {
  typealias Model = TitleModel

  static func beginning(_ choices: inout Choices) -> TitleTruth { TitleTruth() }

  static func nextChange(_ view: Titles, _ choices: inout Choices) -> TitleChange? {
    let thing = choices.draw(.users, in: 1...3)
    let title = choices.draw(.users, in: 1...9)
    return choices.draw(.users, below: 3) == 0
      ? .claim(thing, title: title) : .write(thing, title: title)
  }

  static func objection(_ view: Titles, _ truth: TitleTruth) -> String? { nil }
}
