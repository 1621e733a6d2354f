// Package rejection logs the inputs that an engine rejects: one line with class and
// reason for each, a limited number of lines during a flood, and the number of those
// suppressed.
//
// # From loop to log
//
//	Recorder.Add   on the loop: takes a token of the class and a slot of the ring
//	Log.drain      in the background: writes log lines from the slots
//	Log.rest       logs the number of suppressed events that no line has reported
//
// # Concurrency
//
// Each loop has its own Recorder, whose tokens only that loop uses. Its ring has one
// writer, the loop, and one reader, the goroutine of the Log, which alone calls the
// logger. Loops share nothing, so a flood on one leaves the others unaffected. A slow
// or blocked log fills the rings and never blocks a loop.
//
// # Limits
//
// A loop may log Burst lines per class at once and then one per Every. Further events,
// or events that find the ring full, are counted. The sum of lines and suppressed
// events is the total. Memory use is constant even during a flood: Add does not allocate.
//
// Lines contain our own reasons, numbers and addresses. No field contains bytes from a
// peer.
package rejection
