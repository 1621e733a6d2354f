package store

import (
	"bytes"
	"compress/flate"
	"encoding/json"
	"fmt"

	"github.com/sluicelb/sluice/core/farm"
)

// pieces are farms as they lie in the record of the newest revision, compressed each by
// itself: that record holds them all, and most are as they were in the one before. They
// are known again by where their settings lie (farm.Farm is comparable). A stream of
// DEFLATE may be put together of such pieces, since each ends with a whole byte and refers
// to nothing before it.
type pieces map[farm.Farm][]byte

// noFarms is where the farms of a configuration go in its JSON. No text in it looks like
// that: there, quotes are escaped.
const noFarms = `"farms":[]`

// seal makes the record of a snapshot, which reads like one of the function seal.
func (p *pieces) seal(s *snapshot) ([]byte, error) {
	if len(s.Config.Farms) == 0 {
		*p = nil
		return seal(s)
	}
	empty, without := *s, *s.Config
	empty.Config, without.Farms = &without, []farm.Farm{}
	plain, err := json.Marshal(&empty)
	if err != nil {
		return nil, fmt.Errorf("encode record: %w", err)
	}
	at := bytes.Index(plain, []byte(noFarms)) + len(noFarms) - 1
	c := compressor{w: writers.Get().(*flate.Writer)}
	defer writers.Put(c.w)
	var out bytes.Buffer
	comma := c.piece([]byte{','})
	out.Grow(sumSize + p.size() + len(s.Config.Farms)*len(comma) + len(plain))
	out.Write(make([]byte, sumSize))
	out.Write(c.piece(plain[:at]))
	next := make(pieces, len(s.Config.Farms))
	for i := range s.Config.Farms {
		f := &s.Config.Farms[i]
		piece, known := (*p)[*f]
		if !known {
			one, err := json.Marshal(f)
			if err != nil {
				return nil, fmt.Errorf("encode record: %w", err)
			}
			piece = c.piece(one)
		}
		if i > 0 {
			out.Write(comma)
		}
		out.Write(piece)
		next[*f] = piece
	}
	out.Write(c.last(plain[at:]))
	*p = next
	return summed(out.Bytes()), nil
}

// size is that of all of them, in bytes.
func (p *pieces) size() (n int) {
	for _, piece := range *p {
		n += len(piece)
	}
	return n
}

// compressor compresses pieces of one stream.
type compressor struct {
	w   *flate.Writer
	out bytes.Buffer
}

func (c *compressor) begin(plain []byte) {
	c.out.Reset()
	c.w.Reset(&c.out)
	_, _ = c.w.Write(plain) // a buffer takes everything
}

func (c *compressor) piece(plain []byte) []byte {
	c.begin(plain)
	_ = c.w.Flush()
	return bytes.Clone(c.out.Bytes())
}

// last is the piece that ends the stream.
func (c *compressor) last(plain []byte) []byte {
	c.begin(plain)
	_ = c.w.Close()
	return c.out.Bytes()
}
