package store

import (
	"bytes"
	"compress/flate"
	"fmt"

	"github.com/sluicelb/sluice/core/farm"
)

// pieces are farms as they lie in the record of the newest revision, compressed each by
// itself: that record holds them all, and most are as they were in the one before. They
// are known again by where their settings lie (farm.Farm is comparable). A stream of
// DEFLATE may be put together of such pieces, since each ends with a whole byte and refers
// to nothing before it. Where none is known a revision is compressed as one: many farms
// that are alike take less room so.
type pieces map[farm.Farm][]byte

// seal makes the record of a revision of the pieces that are known.
func (p pieces) seal(e *entry) ([]byte, error) {
	if _, err := e.Time.MarshalText(); err != nil { // what would not be read again
		return nil, fmt.Errorf("encode revision: %w", err)
	}
	head, err := packing.Marshal(&e.Revision)
	if err != nil {
		return nil, fmt.Errorf("encode revision: %w", err)
	}
	but := e.Change
	but.Farms = nil
	change, err := packing.Marshal(&but)
	if err != nil {
		return nil, fmt.Errorf("encode change: %w", err)
	}
	out := bytes.NewBuffer(make([]byte, sumSize, sumSize+len(head)+len(change)+p.size(e.Change.Farms)))
	c := compress(out)
	defer c.end()
	c.write(head)
	c.write(change)
	for i := range e.Change.Farms {
		f := &e.Change.Farms[i]
		if piece, known := p[*f]; known {
			c.insert(piece)
			continue
		}
		plain, err := packing.Marshal(storedFarm{Farm: f, Said: f.Said()})
		if err != nil {
			return nil, fmt.Errorf("encode farm %s: %w", f.Name, err)
		}
		c.write(plain)
	}
	c.close()
	return summed(out.Bytes()), nil
}

// of has a piece for every farm of a list, those that are known and others made now.
func (p pieces) of(farms []farm.Farm) (pieces, error) {
	next := make(pieces, len(farms))
	for i := range farms {
		f := &farms[i]
		piece, known := p[*f]
		if !known {
			plain, err := packing.Marshal(storedFarm{Farm: f, Said: f.Said()})
			if err != nil {
				return nil, fmt.Errorf("encode farm %s: %w", f.Name, err)
			}
			piece = compressed(plain)
		}
		next[*f] = piece
	}
	return next, nil
}

// size is that of those of a list, in bytes.
func (p pieces) size(farms []farm.Farm) (n int) {
	for i := range farms {
		n += len(p[farms[i]])
	}
	return n
}

// compressor writes a stream of DEFLATE.
type compressor struct {
	out  *bytes.Buffer
	w    *flate.Writer
	open bool // something was written that is not flushed
}

func compress(out *bytes.Buffer) *compressor {
	c := &compressor{out: out, w: writers.Get().(*flate.Writer)}
	c.w.Reset(out)
	return c
}

func (c *compressor) write(plain []byte) {
	_, _ = c.w.Write(plain) // a buffer takes everything
	c.open = true
}

// insert puts a piece into the stream. What comes behind it refers to nothing before it.
func (c *compressor) insert(piece []byte) {
	if c.open {
		_ = c.w.Flush()
		c.w.Reset(c.out)
		c.open = false
	}
	c.out.Write(piece)
}

func (c *compressor) close() { _ = c.w.Close() }

func (c *compressor) end() { writers.Put(c.w) }

// compressed is a piece of its own.
func compressed(plain []byte) []byte {
	var out bytes.Buffer
	c := compress(&out)
	defer c.end()
	c.write(plain)
	_ = c.w.Flush()
	return out.Bytes()
}
