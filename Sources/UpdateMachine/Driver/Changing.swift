#if !hasFeature(Embedded)

  /// What a driver keeps beside its replica for a source of mutations: ``Changes``. All others have
  /// none. Belongs to the actor.
  class Changing<Origin: Source> {
    typealias Machine = UpdateMachine<Origin>

    /// The outbox that a save of the replica as it is now makes durable; `nil`: there is none.
    func mark(on machine: isolated Machine) -> OutboxMark? { nil }

    /// The replica has taken an input; its own effects are performed next.
    func took(_ input: Machine.Inputs, on machine: isolated Machine) {}

    /// A save of this outbox is over.
    func saved(_ outbox: OutboxMark, on machine: isolated Machine) {}

    func saveFailed(on machine: isolated Machine) {}

    func fired(_ timer: LocalTimer, on machine: isolated Machine) {}
  }

  extension Changing {
    /// `nil`: the source takes no mutations. Asked of the source's type as it really is, so that it
    /// makes no difference where the driver is made.
    static func make(settings: MachineSettings) -> Changing? {
      let source = Origin.self as? any MutationSource.Type
      return source?.makeChanges(settings: settings) as? Changing
    }
  }

  extension MutationSource {
    fileprivate static func makeChanges(settings: MachineSettings) -> AnyObject {
      Changes<Self>(settings: settings)
    }
  }

  /// A timer of what is pending. Each kind is counted apart.
  enum LocalTimer: Hashable, Sendable {
    case outbox(TimerID)
    case saving(TimerID)
  }

#endif
