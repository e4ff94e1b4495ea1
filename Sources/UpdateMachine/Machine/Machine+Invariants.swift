/// A broken invariant, as a value. A simulation reports and shrinks it; a debug build of an app
/// traps on it.
@usableFromInline
package struct Violation: Hashable, Sendable {
  /// The rule, stated positively.
  package var rule: String
  /// What was found instead: the offending values and the machine in one line.
  package var found: String

  package init(rule: String, found: String) {
    self.rule = rule
    self.found = found
  }
}

extension Machine {
  @usableFromInline
  func violated(_ rule: String) -> Violation { Violation(rule: rule, found: description) }

  /// The first rule of TheMachine §4's table that does not hold; `nil` if all do. Checked after
  /// every input.
  @inlinable
  package func violation() -> Violation? {
    switch _status {
    case .stale:
      if _finger != nil { return violated("stale holds no finger") }
      if retry.timer != nil { return violated("stale holds no timer") }
    case .idle:
      if _finger == nil { return violated("idle holds a finger") }
      if retry.timer != nil, settings.refreshPeriod == nil {
        return violated("idle holds no timer but the refresh")
      }
    case .registering:
      if _finger != nil { return violated("registering holds no finger") }
      if retry.timer == nil { return violated("a register has a deadline") }
    case .registerFailed:
      if _finger != nil { return violated("registerFailed holds no finger") }
      if retry.timer == nil { return violated("registerFailed says until when") }
    case .live(let activity):
      if _finger == nil { return violated("live holds a finger") }
      if (retry.timer == nil) != (activity == .writing) {
        return violated("live has a timer unless it writes")
      }
      if activity == .writing, writing == nil { return violated("live.writing has a write out") }
    case .pollFailed:
      if _finger == nil { return violated("pollFailed holds a finger") }
      if retry.timer == nil { return violated("pollFailed says until when") }
    case .halted:
      if retry.timer != nil { return violated("halted holds no timer") }
    }
    if _status.isResting, isStarted, isForeground {
      return violated("never at rest in the foreground")
    }
    if !isStarted, !_status.isResting, _status != .halted(.stopped) {
      return violated("nothing goes on before the start")
    }
    if isUnwritten, _finger == nil { return violated("only what is held can be unwritten") }
    if !settings.isDurable, isUnwritten || writing != nil {
      return violated("a machine that is not durable writes nothing")
    }
    return nil
  }
}

extension Machine: CustomStringConvertible {
  /// The whole machine in one line.
  @usableFromInline package var description: String {
    var text = "\(_status)"
    if let request = _status.outstanding { text += " request \(request.id)" }
    text += " finger \(_finger.map { $0.description } ?? "none")"
    if let timer = retry.timer { text += " timer \(timer.id) until \(timer.latest)" }
    if let writing { text += " writing \(writing)" }
    if isUnwritten { text += " unwritten" }
    if !isStarted { text += " not started" }
    if !isForeground { text += " background" }
    return text
  }
}
