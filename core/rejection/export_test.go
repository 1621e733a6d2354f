package rejection

// NewRecorder returns a Recorder without a reader.
var NewRecorder = newRecorder

// RingSize is the number of events that fit a Recorder.
const RingSize = ringSize
