package rejection

// NewRecorder returns a Recorder nobody reads.
var NewRecorder = newRecorder

// RingSize is how many events fit a Recorder nobody reads.
const RingSize = ringSize
