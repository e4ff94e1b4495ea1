internal import UpdateMachine

// Situations: the room of named situations, combinations of events that a simulator should bring
// about again and again. It recognises them in what a client is told and does, and counts them.
//
// Situations may use: no other room.

/// A situation that has a name: "a refusal arrives while the retry of its push is out".
///
/// Most mistakes of a client show in such combinations, and no single fault or status says whether
/// runs reach them. So the simulator counts them, if it is asked to (`simulate run --situations`).
///
/// ``words`` has the name and the sentence of each. ``SituationWatch`` says what exactly is
/// counted.
package enum Situation: UInt8, CaseIterable, Hashable, Sendable {
  // The log: registers, polls, signals.
  case lateFailureWhileRetryOut, lateBatchWhileRetryOut, lateSnapshotWhileRetryOut,
    lateSnapshotWhileLive, secondBatch, secondSnapshot, lateBatchAfterExpiry,
    networkChangeDuringBackoff, networkChangeLeavesWait, backgroundWhileRegistering,
    foregroundBeforeSnapshot, snapshotInBackground, stopWhileRegistering, expiryOfWaitingPoll,
    expiryFoundByQuickPoll, expirySoonAfterRegister, eventsGivenAgain, answerInPart,
    unproductivePoll, rateLimitTwice, wakeUnderRateLimit, credentialsChangedAfterHalt,
    snapshotRefusedWithChanges, eventRefusedWithChanges, batchAfterStop

  // Time, freshness and budgets.
  case freshnessByTimeAlone, deadlineOverslept, answerOverslept, writeOverslept, oldSnapshot,
    waitingPollTimesOut, registerTimesOut, paceHoldsPollBack, fingerDroppedByAge,
    failureWithoutBanner, refreshInBackground, refreshFindsExpiry, formOfUnknownAge, formTooOld

  // Changes, the outbox and undo.
  case refusalWhileRetryOut, acceptanceWhileRetryOut, secondPushAnswer,
    pushAgainAfterConfirmation, pushAfterCrash, pushAfterLogOut, confirmationBeforeAnswer,
    expiryWhilePushOut, snapshotWhilePushOut, credentialsRefusedWhilePushOut, stopWhilePushOut,
    backgroundWhilePushOut, pushTimesOut, refusalBeforeLaterChanges, pushBehind, pushTakenInPart,
    pushTooLarge, changeWhilePushOut, decisionWhilePushOut, undoOfChangeInPush,
    undoOfUnsentChange, redoWhileUndoInPush, retryOfUncertainChange, echoSettlesUncertainChange,
    changeOverruled, changeThrowsOverNews, thrownChangeHeals, nameLostWithChanges,
    changeBeforeFirstState

  // Pages, windows and knowledge.
  case expiryWhilePageOut, pageAfterWindowClosed, pageAfterWindowMoved, pageOfEarlierLog,
    pageAheadOfLog, pageFailsBesideAnother, pageTimesOut, pageWaitsForRows, eventsWaitForRows,
    expiryWhileRowsRead, backgroundWhilePageOut, windowSharesFetch, itemInDoubt,
    heldItemContradicted, secondReadingMends

  // Storage and restarts.
  case crashAfterSave, crashTearsSave, crashWhilePushOut, crashWhileRegistering,
    crashWhileLoading, restartWithSentChanges, restartWithoutForm, loadFailsAgain,
    stopWhileLoading, backgroundWhileLoading, changeWhileSaving, saveFailsBeforePush,
    saveFailsAgain, changesWithoutModel, olderOutboxBack

  // Log-outs.
  case logOutWhilePushOut, logOutWhilePageOut, logOutWhileSaving, logOutWhileLoading,
    logOutWithChanges, logOutOffline, snapshotAfterLogOut, pushAnswerAfterLogOut,
    answerFromBeforeLogOut

  /// The name in tables and in JSON: words joined by hyphens.
  package var name: String { Situation.words[Int(rawValue)].name }

  /// What happens, in one sentence.
  package var sentence: String { Situation.words[Int(rawValue)].sentence }
}
