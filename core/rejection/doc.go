// Package rejection writes down what an engine refuses: one log line with class
// and reason for each refused input, a bounded number of lines under a flood,
// and the number of those left out.
//
// # The way of a line
//
//	Recorder.Add   on the loop: a token of the class, a slot of the ring
//	Log.drain      in the background: the slots become log lines
//	Log.rest       what was left out and no line tells of becomes a number
//
// # Who owns what
//
// Each loop has a Recorder of its own, whose tokens only that loop touches.
// Its ring has one writer, the loop, and one reader, the goroutine of the Log,
// which alone calls the logger. Loops share nothing with each other, so a
// flood on one is no contention on another; a log that is slow or stuck fills
// rings and never holds a loop.
//
// # Bounds
//
// A loop gives a class Burst lines at once and then one per Every. What is
// beyond that, or finds the ring full, is counted: lines and suppressed
// together are all there was. Nothing grows under a flood, and Add allocates
// nothing.
//
// Lines hold reasons of ours, numbers, and addresses; there is no field that
// would take bytes of a peer.
package rejection
