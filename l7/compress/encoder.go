package compress

// Encoder encodes one body after the other. What is written comes out later,
// all of it only after Flush or Close.
type Encoder struct {
	library library
	out     output
	coding  Coding
	level   Level
	dirty   bool // there is something to flush
	busy    bool // a library is at work, or did not return
}

// output collects what a library writes.
type output struct{ b []byte }

func (o *output) Write(p []byte) (int, error) {
	o.b = append(o.b, p...)
	return len(p), nil
}

// Holds reports whether Flush may have something to give.
func (e *Encoder) Holds() bool { return e.dirty }

// Coding is what the encoder encodes into.
func (e *Encoder) Coding() Coding { return e.coding }

// Turn is how many bytes should be written at most before others get a turn.
func (e *Encoder) Turn() int { return variants[e.coding][e.level].turn }

// Write encodes p and appends what is ready to dst. An error, which only a
// mistake in a library can cause, is final.
func (e *Encoder) Write(dst, p []byte) ([]byte, error) {
	if len(p) == 0 {
		return dst, nil
	}
	e.begin(dst)
	_, err := e.library.Write(p)
	e.dirty = true
	return e.end(), err
}

// Flush appends what was held back, so that all that was written can be read.
// It appends nothing if nothing was.
func (e *Encoder) Flush(dst []byte) ([]byte, error) {
	if !e.dirty {
		return dst, nil
	}
	e.begin(dst)
	err := e.library.Flush()
	e.dirty = false
	return e.end(), err
}

// Close appends what was held back and the end of the body.
func (e *Encoder) Close(dst []byte) ([]byte, error) {
	e.begin(dst)
	err := e.library.Close()
	return e.end(), err
}

func (e *Encoder) begin(dst []byte) { e.out.b, e.busy = dst, true }

func (e *Encoder) end() (dst []byte) {
	dst = e.out.b
	e.out.b, e.busy = nil, false
	return dst
}
