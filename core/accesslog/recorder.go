package accesslog

// Recorder is what one loop makes records with. Without a segment it makes none.
type Recorder struct {
	// Entry is for who makes one record at a time.
	Entry *Entry
	IDs   *IDs
	Loop  uint8

	segment *Segment
	writer  *Writer
}

// NewRecorder returns the recorder of a loop with that number.
func NewRecorder(to *Segment, writer *Writer, loop int) Recorder {
	return Recorder{Entry: new(Entry), IDs: NewIDs(), Loop: uint8(loop), segment: to, writer: writer}
}

// Wants says what a record of a farm would be for, 0 when nobody wants one: of a farm that
// logs one in sample is taken by chance, of one somebody watches all are.
//
// Hot path: two comparisons and a load where nobody wants any; 0 allocations.
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
