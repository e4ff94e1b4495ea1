internal import SyncProtocols
internal import UpdateMachine

// Situations of pages, windows and what is known of lists.

extension SituationWatch {
  func recognisePage(_ taken: Taken) {
    guard Model.Lists.arePartial else { return }
    let device = taken.device
    switch taken.input {
    case .pageArrived(let id, _):
      note(.pageAfterWindowClosed, if: device.closed.contains(id))
      note(.pageAfterWindowMoved, if: device.moved.contains(id))
      note(.pageOfEarlierLog, if: device.voided.contains(id))
      note(.pageWaitsForRows, if: reads(taken.effects))
    case .batchArrived: note(.eventsWaitForRows, if: taken.isCurrent && reads(taken.effects))
    case .failed(let id, _, _) where id.part == .pages:
      let isOut = device.fetches.contains { $0.id == id }
      note(.pageFailsBesideAnother, if: isOut && taken.before.fetchesOut > 1)
    case .fired(let timer) where timer.part == .pages:
      note(.pageTimesOut, if: !taken.effects.pages.cancel.isEmpty)
    default: break
    }
    noteGivenUp(taken)
    guard let before = taken.before.model?.lists, let after = taken.after.model?.lists else {
      return
    }
    let hasAnswered = taken.answers != nil
    note(.itemInDoubt, if: hasAnswered && after.doubtful.count > before.doubtful.count)
    note(.heldItemContradicted, if: after.suspects.count > before.suspects.count)
  }

  /// Notes why fetches were given up.
  private func noteGivenUp(_ taken: Taken) {
    guard !taken.effects.pages.cancel.isEmpty else { return }
    if taken.before.finger != nil, taken.after.finger == nil {
      taken.device.voided += taken.effects.pages.cancel
    }
  }

  /// Whether rows of the saved form are asked for.
  private func reads(_ effects: Body.Effects) -> Bool {
    var reads = false
    effects.each { if case .read = $0 { reads = true } }
    return reads
  }

  /// A user has closed or moved a window, so some fetches were given up.
  func windowChanged(_ client: Int, isClosed: Bool, _ effects: Body.Effects) {
    if isClosed {
      devices[client].closed += effects.pages.cancel
    } else {
      devices[client].moved += effects.pages.cancel
    }
  }

  /// A page is about to arrive.
  ///
  /// - Parameters:
  ///   - position: where the server was when it read the page.
  ///   - finger: the position that the client's finger stands for; −1: it has none.
  func pageWasRead(at position: Int64, finger: Int64) {
    note(.pageAheadOfLog, if: finger >= 0 && position > finger)
  }
}
