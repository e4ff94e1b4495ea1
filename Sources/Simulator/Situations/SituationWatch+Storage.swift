internal import SyncProtocols
internal import UpdateMachine

// Situations of the saved form, and of processes that end and begin.

extension SituationWatch {
  func recogniseStorage(_ taken: Taken) {
    let device = taken.device
    switch taken.input {
    case .loaded(let saved, _):
      guard let saved else {
        note(.restartWithoutForm, if: device.hasForm)
        break
      }
      guard let outbox = saved.outbox else { break }
      note(.restartWithSentChanges, if: outbox.pending.contains { $0.stage != .unsent })
      noteAge(of: outbox, device)
    case .changesLoaded(let changes):
      note(.changesWithoutModel, if: changes.outbox.count > 0)
      noteAge(of: changes.outbox, device)
    case .loadFailed: note(.loadFailsAgain, if: device.hasLoadFailed)
    case .writeFailed:
      note(.saveFailsAgain, if: device.hasSaveFailed)
      note(.saveFailsBeforePush, if: taken.before.outbox?.status == .storing)
    default: break
    }
  }

  /// An outbox that was read may be older than one that its device had.
  private func noteAge(of outbox: Outbox<Model.Change>, _ device: Device) {
    let isOlder = device.tickets.contains {
      $0.client == outbox.client && $0.newest > outbox.newestTicket
    }
    note(.olderOutboxBack, if: isOlder)
  }

  /// A process ends without notice.
  ///
  /// - Parameter isSaved: whether the save that was out took effect; `nil`: none was out.
  func crashes(_ client: Int, _ body: Body, isSaved: Bool?, isLoading: Bool) {
    if let isSaved { note(isSaved ? .crashAfterSave : .crashTearsSave) }
    note(.crashWhileLoading, if: isLoading)
    if case .pushing? = body.outbox?.status { note(.crashWhilePushOut) }
    if case .registering = body.status { note(.crashWhileRegistering) }
    if isSaved == true { devices[client].hasForm = true }
  }
}
