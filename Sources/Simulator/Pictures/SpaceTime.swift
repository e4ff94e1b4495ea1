package import UpdateMachine

// Pictures: the room of space-time diagrams: what each client and the server did, and the messages
// between them, over time. It draws what it is told, and knows no world.
//
// Pictures may use: no other room.

/// A space-time diagram. Time runs down; each client and the server has a lane, and a message is an
/// arrow between two lanes.
package struct SpaceTime: Sendable {
  /// What the diagram shows, in one line.
  package var title: String
  /// The names of the lanes, from left to right.
  package var lanes: [String]
  /// What happened, in order.
  package private(set) var marks: [Mark] = []
  package private(set) var arrows: [Arrow] = []
  /// In the order in which they began.
  package private(set) var bars: [Bar] = []
  /// The indices of the messages that are on their way.
  private var openArrows: [Int] = []
  /// The indices of the bars that have not ended.
  private var openBars: [Int] = []
  /// The state of each lane before the first mark; empty: none.
  package internal(set) var beginning: [LaneState?] = []
  /// What an oracle found, in lines; empty: nothing.
  package var evidence: [String] = []

  /// Something that happened at one moment.
  package struct Mark: Sendable {
    package var at: Moment
    /// The index of the lane; `nil`: it concerns all lanes.
    package var lane: Int?
    package var kind: Kind
    package var text: String
    /// What the lane is from here on; `nil`: unchanged.
    package var state: LaneState?

    package enum Kind: Sendable {
      case plain
      /// The server's state changes.
      case commit
      /// A client takes a snapshot with its finger: the seam between what it got and what follows.
      case seam
      /// Something goes wrong in the world.
      case fault
      /// What a client knows of a list, as a bar over IDs such as "[==#==..o".
      case list
      /// What an oracle found.
      case finding
    }
  }

  /// What the process of a lane is.
  package enum LaneState: Hashable, Sendable {
    /// The machine's status, by `MachineStatus.code`.
    case status(Int)
    /// No process runs.
    case off
  }

  /// A message.
  package struct Arrow: Sendable {
    package var key: Key
    package var from: Int
    package var to: Int
    package var text: String
    package var sent: Moment
    package var end = End.none

    package enum End: Hashable, Sendable {
      /// It has not arrived. It may still be on its way, or be lost.
      case none
      case arrived(Moment)
      case lost(Moment)
    }
  }

  /// Identifies a message until it arrives.
  package struct Key: Hashable, Sendable {
    package var kind: Kind
    package var lane: Int
    package var number: UInt64

    package enum Kind: Hashable, Sendable {
      case request, answer, push, pushAnswer, page, pageAnswer
    }

    package init(_ kind: Kind, _ lane: Int, _ number: UInt64) {
      self.kind = kind
      self.lane = lane
      self.number = number
    }
  }

  /// Something that lasts, beside a lane: a log of the server, or a pending change of a client.
  package struct Bar: Sendable {
    package var lane: Int
    package var name: String
    /// What it is, from a moment on. The first is its beginning.
    package var parts: [(at: Moment, text: String)]
    /// `nil`: it lasts.
    package var end: Moment?
  }

  package init(title: String, lanes: [String]) {
    self.title = title
    self.lanes = lanes
  }

  // MARK: Telling it what happens

  package mutating func mark(
    _ at: Moment, _ lane: Int?, _ text: String, _ kind: Mark.Kind = .plain,
    state: LaneState? = nil
  ) {
    marks.append(Mark(at: at, lane: lane, kind: kind, text: text, state: state))
  }

  /// A message leaves.
  package mutating func send(
    _ key: Key, from: Int, to: Int, _ text: String, at now: Moment
  ) {
    openArrows.append(arrows.count)
    arrows.append(Arrow(key: key, from: from, to: to, text: text, sent: now))
  }

  /// A message arrives. If it has arrived before, this is a copy of it.
  package mutating func arrive(_ key: Key, at now: Moment) {
    if end(key, .arrived(now)) { return }
    // A copy comes soon after the first, or never.
    let recent = arrows.suffix(SpaceTime.recentArrows)
    guard let first = recent.last(where: { $0.key == key }), case .arrived = first.end else {
      return
    }
    var copy = first
    copy.end = .arrived(now)
    arrows.append(copy)
  }

  /// A message is lost, if it is still on its way.
  package mutating func lose(_ key: Key, at now: Moment) {
    _ = end(key, .lost(now))
  }

  /// Ends a message that is on its way; `false`: it is not.
  private mutating func end(_ key: Key, _ end: Arrow.End) -> Bool {
    guard let place = openArrows.lastIndex(where: { arrows[$0].key == key }) else { return false }
    arrows[openArrows.remove(at: place)].end = end
    return true
  }

  /// Among so many last messages, the first of a copy is looked for.
  private static var recentArrows: Int { 1000 }

  /// What lasts beside a lane now. What is not named any more has ended.
  package mutating func hold(_ held: [(name: String, text: String)], lane: Int, at now: Moment) {
    for index in openBars where bars[index].lane == lane {
      guard let still = held.first(where: { $0.name == bars[index].name }) else {
        bars[index].end = now
        continue
      }
      if bars[index].parts.last?.text != still.text { bars[index].parts.append((now, still.text)) }
    }
    openBars.removeAll { bars[$0].end != nil }
    for one in held
    where !openBars.contains(where: { bars[$0].lane == lane && bars[$0].name == one.name }) {
      openBars.append(bars.count)
      bars.append(Bar(lane: lane, name: one.name, parts: [(now, one.text)]))
    }
  }

  // MARK: Cutting

  /// The part from one moment to another, both included. A message that left before is drawn from
  /// the beginning, and one that arrives after is on its way.
  package func part(from start: Moment, to end: Moment) -> SpaceTime {
    var part = SpaceTime(title: title, lanes: lanes)
    part.evidence = evidence
    part.beginning = beginning.isEmpty ? lanes.map { _ in nil } : beginning
    for mark in marks {
      if mark.at < start, let lane = mark.lane, let state = mark.state {
        part.beginning[lane] = state
      } else if mark.at >= start, mark.at <= end {
        part.marks.append(mark)
      }
    }
    for arrow in arrows where arrow.sent <= end && arrow.endMoment.map({ $0 >= start }) ?? true {
      var arrow = arrow
      arrow.sent = max(arrow.sent, start)
      if let over = arrow.endMoment, over > end { arrow.end = .none }
      part.arrows.append(arrow)
    }
    for bar in bars where bar.parts[0].at <= end && bar.end.map({ $0 >= start }) ?? true {
      var bar = bar
      let first = bar.parts.last { $0.at <= start } ?? bar.parts[0]
      bar.parts =
        [(max(first.at, start), first.text)] + bar.parts.filter { $0.at > start && $0.at <= end }
      if let over = bar.end, over > end { bar.end = nil }
      part.bars.append(bar)
    }
    return part
  }

  /// The same without the marks of the middle, if there are marks at more moments than `count`. A
  /// line says how many were left out.
  package func withoutMiddle(_ count: Int) -> SpaceTime {
    var moments: [Int64] = []
    for mark in marks { moments.append(mark.at.milliseconds) }
    moments.sort()
    var distinct: [Int64] = []
    for moment in moments where distinct.last != moment { distinct.append(moment) }
    guard distinct.count > count else { return self }
    let from = Moment(milliseconds: distinct[count / 2])
    let to = Moment(milliseconds: distinct[distinct.count - count / 2 - 1])
    var cut = self
    cut.marks.removeAll { $0.at >= from && $0.at <= to }
    cut.arrows.removeAll { arrow in
      let end = arrow.endMoment ?? arrow.sent
      return arrow.sent >= from && arrow.sent <= to || end >= from && end <= to
    }
    cut.bars.removeAll { $0.parts[0].at >= from && $0.parts[0].at <= to }
    for index in cut.bars.indices {
      cut.bars[index].parts.removeAll { $0.at >= from && $0.at <= to }
    }
    let left = marks.count - cut.marks.count
    cut.mark(from, nil, "… \(left) more lines until \(SpaceTimeDrawing.clock(to)) …")
    return cut
  }

  /// The last marks, about so many: all of the moment of the first of them. All, if there are not
  /// so many.
  package func latest(_ count: Int) -> SpaceTime {
    guard marks.count > count, let last = marks.last else { return self }
    return part(from: marks[marks.count - count].at, to: last.at)
  }
}
