public import UpdateMachine

// Laws: the room of what every protocol owes its clients, whatever its fingers and batches are.
//
// Laws may use: no other room.

/// The laws of a protocol's `advance`, checked on a log in all its splits, repeats and overlaps.
/// For the author of an own `SyncProtocol`.
///
///     let laws = ProtocolLaws<ChangeFeed>(
///       entries: 8, place: { FeedPlace(log: 1, last: $0) }, batch: { feed.batch($0) })
///     #expect(laws.objection() == nil)
///
/// A client that is anywhere in the log is given every answer that any client could be given: a
/// request may be lost, an answer may come twice, and a proxy may mix up two clients. Whatever it
/// is given, it takes exactly what it lacks, or refuses the answer.
public struct ProtocolLaws<Sync: SyncProtocol> where Sync.Place: Equatable {
  private let entries: Int
  private let seesGaps: Bool
  private let place: (Int) -> Sync.Place
  private let batch: (Range<Int>) -> Sync.Batch

  /// Describes a log by what the protocol says of it.
  ///
  /// - Parameters:
  ///   - entries: how many entries the log has. Eight show everything.
  ///   - seesGaps: whether a client can tell that entries are missing. `false` for a protocol whose
  ///     numbers may have holes: then only the server's word says that nothing is missing.
  ///   - place: the place of a client that has the first entries, so many of them.
  ///   - batch: the answer that brings these entries, to a client at the first of them. An empty
  ///     range: the answer that there is nothing new. Some protocols' empty answers do not say
  ///     where the client was taken to be. So it is not checked that a client elsewhere notices.
  public init(
    entries: Int, seesGaps: Bool = true, place: @escaping (Int) -> Sync.Place,
    batch: @escaping (Range<Int>) -> Sync.Batch
  ) {
    precondition(entries > 0, "a log without entries breaks no law")
    self.entries = entries
    self.seesGaps = seesGaps
    self.place = place
    self.batch = batch
  }

  /// Returns the first law that is broken; `nil`: none is.
  ///
  /// - Parameter other: a place in another log of the same server, such as the one from before a
  ///   restart; `nil`, the default: that is not checked.
  public func objection(inOtherLog other: Sync.Place? = nil) -> LawObjection? {
    for client in 0...entries {
      for first in 0...entries {
        for end in first...entries {
          if let objection = objection(at: client, given: first..<end) { return objection }
        }
      }
    }
    guard let other else { return nil }
    let verdict = Sync.advance(other, over: batch(0..<entries))
    guard !verdict.isRefusal else { return nil }
    return LawObjection(
      situation: "A client of another log is given entries 0..<\(entries).",
      expected: "a refusal (gap, or lost)", found: "\(verdict)")
  }

  /// - Parameter client: how many entries the client has.
  private func objection(at client: Int, given entries: Range<Int>) -> LawObjection? {
    let answer = batch(entries)
    let verdict = Sync.advance(place(client), over: answer)
    func broken(_ expected: String) -> LawObjection {
      LawObjection(
        situation: "A client that has \(client) entries is given entries \(entries).",
        expected: expected, found: "\(verdict)")
    }
    let leadsOn = SyncAdvance.next(place(entries.upperBound), first: client - entries.lowerBound)
    if entries.lowerBound == client {
      // What follows on the client is taken, and that there is nothing is no failure.
      let isRight = entries.isEmpty ? verdict == .seen : verdict.isSame(as: leadsOn)
      return isRight ? nil : broken(entries.isEmpty ? "seen" : "\(leadsOn)")
    }
    if entries.upperBound <= client || entries.isEmpty {
      if case .next = verdict { return broken("that nothing moves: nothing is new") }
    } else if entries.lowerBound < client {
      // Only an answer that counts its entries can be taken in part.
      let isRest = answer.count == entries.count && verdict.isSame(as: leadsOn)
      guard isRest || verdict.isRefusal || verdict == .incomplete else {
        return broken("\(leadsOn), or a refusal")
      }
    } else if seesGaps {
      guard verdict.isRefusal || verdict == .incomplete else {
        return broken("a refusal: entries between the two are missing")
      }
    }
    return nil
  }
}

/// A law that a protocol breaks.
public struct LawObjection: Hashable, Sendable, CustomStringConvertible {
  /// Where the client is, and what it is given.
  public let situation: String
  /// What the law expects of `advance`.
  public let expected: String
  /// What `advance` says.
  public let found: String

  public var description: String { "\(situation) Expected: \(expected). Found: \(found)." }
}

extension SyncAdvance where Place: Equatable {
  /// Whether the client asks for everything anew.
  fileprivate var isRefusal: Bool { self == .gap || self == .lost }

  /// Whether it leads to the same place with the same entries, complete or not.
  fileprivate func isSame(as other: SyncAdvance) -> Bool {
    guard case .next(let mine, let first, _) = self,
      case .next(let theirs, let otherFirst, _) = other
    else { return false }
    return mine == theirs && first == otherFirst
  }
}
