package accesslog

// Recorder produces the records of one loop. Without a segment it produces none.
type Recorder struct {
	// Entry is for callers with one record at a time.
	Entry *Entry
	IDs   *IDs
	Loop  uint8

	segment *Segment
	writer  *Writer
}

// NewRecorder returns the recorder of the loop with that number.
func NewRecorder(to *Segment, writer *Writer, loop int) Recorder {
	return Recorder{Entry: new(Entry), IDs: NewIDs(), Loop: uint8(loop), segment: to, writer: writer}
}

// Wants returns the purposes of a record for a farm, or 0 if it is not needed. If the
// farm logs, one in sample is selected at random. If the farm is watched, all are.
//
// Hot path: two comparisons and a load if 0; no allocations.
func (r *Recorder) Wants(farm uint32, logs bool, sample uint32) (to Flags) {
	if r.segment == nil {
		return 0
	}
	if logs && r.IDs.OneIn(sample) {
		to = Logged
	}
	if r.segment.Watched(farm) {
		to |= Watched
	}
	return to
}

// Put puts a record into the ring.
func (r *Recorder) Put(e *Entry) { r.writer.Put(e) }
