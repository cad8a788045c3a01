package sqlstore_test

import (
	"testing"

	"github.com/papertrace/patra/internal/patratest"
)

// TestStore holds the store to every claim of the suite, on every engine: the
// rulings about plans, leases, pages, records and the watermark, each by name, and
// the planted violations that the integrity check must report. The suite drives the
// store by its exported methods and looks at the tables by SQL of its own, so that a
// claim does not rest on the code it judges.
func TestStore(t *testing.T) {
	t.Parallel()
	patratest.EachEngine(t, holdToEveryClaim)
}

// holdToEveryClaim runs the suite on one engine. The claims share a database that is
// emptied before each.
func holdToEveryClaim(t *testing.T, e patratest.Engine) {
	t.Parallel()
	lab := NewLab(t, e)
	for _, c := range []struct {
		name string
		hold func(*Lab)
	}{
		{"M12_ObservedMaximumIsThatOfAllPassed", observedMaximum},
		{"R1_EveryOrderAndEveryFailedSubset", everyOrder},
		{"R1_FinishersRacing", racingFinishers},
		{"R2_LastSliceFirst", lastSliceFirst},
		{"R4_MiddleSliceFailsOverThreeTriggers", middleFails},
		{"R4_ThreeMiddleSlicesFailOverThreeTriggers", threeMiddlesFail},
		{"R4_CancelledSliceIsQueuedByAPerson", queuedByAPerson},
		{"R4_FrontierMovedChangesNothing", frontierMoved},
		{"R4_CoverageSaysOneThingOfAWindow", coverageShown},
		{"R4_PlanGoesOn", planGoesOn},
		{"R8_ABackfillGoesOnBackwards", backfillGoesOn},
		{"R4_AcceptedGapsStayAccepted", acceptedGaps},
		{"R5_FiftyIdenticalTriggers", identicalTriggers},
		{"R5_R6_SameWindowAnotherActivity", anotherActivity},
		{"R5_OneAnswerPerTrigger", answeredOnce},
		{"R8_BackfillFallsContiguously", backfillFalls},
		{"R9_CancelledUpdateReturnsItsSignals", signalsReturned},
		{"R9_AcceptedGapReturnsItsSignals", signalsOfAcceptedGap},
		{"Mark_WhatCannotBeAPlaceIsReported", marksDamaged},
		{"R9_NoticesOpenSignals", signalsOpened},
		{"R11_LateIsCounted", lateIsCounted},
		{"R11_SentinelSeesWhatWasMissed", sentinelSees},
		{"R11_SentinelChoosesWhatIsProven", provenWindows},
		{"R12_EveryInstantInOneDay", daysApart},
		{"R1_BucketsOfAWindowTogether", bucketsOfAWindow},
		{"R13_ResliceTilesAndHoldsW", reslice},
		{"R13_ProvenPrefixMovesW", provenPrefix},
		{"R13_ProvenPrefixOfABackfill", prefixBackwards},
		{"R13_PartsByPagesHoldW", landmarks},
		{"R14_FencedWorkerChangesNothing", fencedChangesNothing},
		{"R14_TakenOverBeforeTheTransaction", takenBeforeBegin},
		{"R56_TheLockIsTakenAtBegin", lockedAtBegin},
		{"R15_DeadInDispatchedAndExecuting", deadIsPicked},
		{"R16_PoisonAfterFive", poison},
		{"R16_PageOneOfEveryWalkIsNoProgress", noProgress},
		{"R16_APersonMayTryPoisonAgain", poisonByHand},
		{"R16_DeathsBeforeAReplyAreNoPoison", deathsBeforeAReply},
		{"R16_NoMarkWhileNobodyDied", unmarkedWhileNobodyDied},
		{"R17_TimeNeverGoesBack", timeNeverGoesBack},
		{"R18_NothingCommitsAfterHold", heldInEveryStep},
		{"R18_HeldSourceIsNotPicked", heldNotPicked},
		{"R18_CancelledPlanIsPlannedAgainInParts", cancelledInParts},
		{"R19_C1_OrderOfPicking", orderOfPicking},
		{"R19_NothingStarves", nothingStarves},
		{"R19_PartitionsTakeTurns", turnsAreTaken},
		{"C21_EverySourceRuns", everySourceRuns},
		{"C21_NoMoreWalksThanRequests", boundedWalks},
		{"R20_EveryOrdinalOnce", ordinalOnce},
		{"R20_NoOrdinalIsCommittedTwice", ordinalTwice},
		{"R21_OnlySucceededCounts", onlySucceeded},
		{"R22_UnknownPageIsTold", unknownPage},
		{"R25_EndOfTheWalkBeforeIsTold", walkBefore},
		{"R27_ResumeBetweenPhases", betweenPhases},
		{"R28_AnyOrderConverges", anyOrder},
		{"R57_UndatedVersionsInAnyOrder", undatedVersions},
		{"R29_KeysCompareAsBytes", keysAsBytes},
		{"R29_OneRecordWhateverTheTask", oneRecord},
		{"R30_RemappedOnce", remapped},
		{"R31_DeletedAndAddedInAnyOrder", deletedAndAdded},
		{"R32_HostileTextIsKept", hostileText},
		{"R33_EventFirstInOneTransaction", eventFirst},
		{"R33_EventKeyIsCursorAndValue", eventKeys},
		{"R34_I7_OneOutboxRowPerRevision", outboxRows},
		{"R38_OpenWorkIsTold", openWork},
		{"R39_AskedToStayAwayForDays", stayAway},
		{"R42_ThreeForbiddenSlicesInARow", forbidden},
		{"R43_TenSpentRunsMakeAGap", spentRuns},
		{"R47_TasksOfNewerSpecsAreLeft", newerSpecs},
		{"R62_VolatileOnly", volatileOnly},
		{"R66_TriggerAndExpressionAlongTheLineage", lineageIsWhole},
		{"R66_TasksNameTheirPoolAndParameters", taskParameters},
		{"R67_EveryEndOfARunIsSummedUp", everyEndOfARun},
		{"R83_EveryBodyIsCompared", spoiltBodies},
		{"R86_ClockIsReadUnderTheLock", gateClock},
		{"R86_SeatsAreSharedAndRunOut", sharedSeats},
		{"R68_SchedulesAreRowsOfTheirOwn", standingRows},
		{"R68_PlansNotBegunAreTold", plansNotBegun},
		{"P20_RestingIsLeftAlone", restingLeftAlone},
		{"R70_PartitionRestsAfterThreeFailures", partitionRests},
		{"R70_ALongOutageEndsWithItsRests", outageEndsRests},
		{"R70_RequestsOutsideOfTasksCount", requestsCount},
		{"R70_ThrottledIsNoFailure", throttledIsNoFailure},
		{"R70_AWaitKeepsTheFaultBeforeIt", waitKeepsTheFault},
		{"R82_CutsCountForTheBreaker", cutsCount},
		{"R82_AnItemIsPutAsideOnceForEachCause", asideOnce},
		{"R67_FaultsAreGroupedByWhatCausesThem", faultsAreGrouped},
		{"R67_ManyFailuresAreOneRow", manyFailuresAreOneRow},
		{"Errors_AResolvedOneComesBackAndAMuteEnds", decidedErrors},
		{"Records_AreListedInBoundedPages", recordsInPages},
		{"Records_HaveTheirHistory", recordWithItsHistory},
		{"R32_QuarantineHasNames", quarantineHasNames},
		{"R32_WhatIsDiscardedStaysAway", discardedStaysAway},
		{"M14_AnswerOrPersonEndsTheRest", partitionClosed},
		{"C2_OnlyListedTransitions", onlyListed},
		{"C2_WhatIsClosedIsRefused", closedIsRefused},
		{"C2_PoisonWithoutItsSliceHoldsNobody", poisonWithoutItsSlice},
		{"C3_ColumnsAreThere", columnsThere},
		{"C4_RenewalsLeaveTheFence", renewals},
		{"C5_Microseconds", microseconds},
		{"C11_OrphansAreReported", orphans},
		{"C13_OnceADayAndAudited", onceADay},
		{"Reconcile_CountsWhatIsProven", countsProven},
		{"Reconcile_BackfilledWindowsAreProven", countsBackfilled},
		{"Retry_SameNewRecordFromTwoTasks", insertRace},
		{"Retry_ADuplicateKeyIsToldAtOnce", duplicateTold},
		{"Race_RateKey", rateKeyRace},
		{"Race_Breaker", breakerRace},
		{"Race_Trigger", triggerRace},
		{"Race_FirstPlan", planRace},
		{"Race_Source", sourceRace},
		{"Race_Permission", permissionRace},
		{"Race_BadID", badIDRace},
		{"Race_Record", recordRace},
		{"Retry_ReadyIsCalledOnce", readyOnce},
		{"UnknownOutcome_IsNeverAppliedAgain", unknownOutcome},
		{"R78_LevelsOfTheStore", levelsOfTheStore},
		{"Feed_ALateCommitIsNotLost", feedOfLateCommit},
		{"Feed_ConcurrentCommitsInOneOrder", feedUnderConcurrentCommits},
		{"Alert_OneMessageForManyStewards", oneMessageForManyStewards},
		{"Alert_TrafficAndQueuesAreTold", trafficAndQueues},
		{"R33_ArchivedIsFoundAndChangesNothing", archivedIsFound},
		{"Retention_OneArchives", oneArchives},
		{"Retention_WhatHasChangedStays", changedStays},
		{"Views_TasksInPages", tasksInPages},
		{"Views_RunsAndPages", runsAndPages},
		{"Views_GapsInPages", gapsInPages},
		{"Views_CursorsInPages", cursorsInPages},
		{"Verify_PlantedViolations", planted},
	} {
		t.Run(c.name, func(t *testing.T) { c.hold(lab.on(t)) })
	}
}
