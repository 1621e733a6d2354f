package snapshot

import (
	"crypto/sha256"
	"fmt"

	"github.com/sluicelb/sluice/core/farm"
)

// following is the body of a snapshot that contains the differences from its base. The
// digests of base and result prove that the result is the written configuration.
type following struct {
	Base  []byte `cbor:"1,keyasint"`
	Sum   []byte `cbor:"2,keyasint"`
	Parts []part `cbor:"3,keyasint"`
	// Rest is the encoding of everything except farms, or empty if it equals the base.
	Rest []byte `cbor:"4,keyasint,omitempty"`
}

// part stands for Count farms of the base from position First, or for one new farm. If the
// farm has packed records, Farm is its head, which contains a digest for each run. Each
// run is in the farm at position First of the base or in Runs.
type part struct {
	First uint32   `cbor:"1,keyasint,omitempty"`
	Count uint32   `cbor:"2,keyasint,omitempty"`
	Farm  []byte   `cbor:"3,keyasint,omitempty"`
	Runs  [][]byte `cbor:"4,keyasint,omitempty"`
}

// after encodes the snapshot as differences from base.
func (w *written) after(base *written, rest []byte) ([][]byte, error) {
	f := following{Base: base.sum[:], Sum: w.sum[:]}
	for i, at := range w.at {
		if at < 0 {
			p, e := part{Farm: w.entries[i].encoded}, w.entries[i]
			if e.runs != nil {
				p.First, p.Runs = uint32(max(0, base.position(i, e.farm.ID))), inOrder(e.runs, e.fresh)
			}
			f.Parts = append(f.Parts, p)
			continue
		}
		if n := len(f.Parts); n > 0 && f.Parts[n-1].Count > 0 && f.Parts[n-1].First+f.Parts[n-1].Count == uint32(at) {
			f.Parts[n-1].Count++
		} else {
			f.Parts = append(f.Parts, part{First: uint32(at), Count: 1})
		}
	}
	if w.rest != base.rest {
		f.Rest = rest
	}
	body, err := encoding.Marshal(&f)
	if err != nil {
		return nil, fmt.Errorf("encode generation %d: %w: %w", w.generation, ErrBody, err)
	}
	return seal(w.generation, kindFollows, [][]byte{make([]byte, headerSize), body})
}

// follow applies the body to the last snapshot.
func (r *Reader) follow(content []byte) (*read, error) {
	if err := (&limit{elements: elements(content), size: len(content)}).check(); err != nil {
		return nil, err
	}
	var f following
	if err := decoding.Unmarshal(content, &f); err != nil {
		return nil, fmt.Errorf("%w: %w", ErrBody, err)
	}
	base := r.last
	if base == nil || string(f.Base) != string(base.sum[:]) {
		return nil, ErrBase
	}
	next := &read{rest: base.rest, restDigest: base.restDigest}
	if f.Rest != nil {
		if err := next.readRest(f.Rest); err != nil {
			return nil, fmt.Errorf("%w: %w", ErrBody, err)
		}
	}
	limit := limit{elements: elements(f.Rest), size: len(f.Rest)}
	for _, p := range f.Parts {
		farms, err := p.read(base.farms)
		if err == nil {
			err = limit.add(farms...)
		}
		if err != nil {
			return nil, err
		}
		if next.farms = append(next.farms, farms...); len(next.farms) > farm.MaxFarmID {
			return nil, fmt.Errorf("%w: more than %d farms", ErrBody, farm.MaxFarmID)
		}
	}
	if next.sum = sumOf(next.restDigest, next.farms); string(f.Sum) != string(next.sum[:]) {
		return nil, fmt.Errorf("%w: what differs makes another configuration than the one that was written", ErrChecksum)
	}
	return next, nil
}

// read returns the farms of the part.
func (p *part) read(base []*entry) ([]*entry, error) {
	first, count, had := uint64(p.First), uint64(p.Count), uint64(len(base))
	switch {
	case p.Farm == nil && p.Runs == nil && count > 0 && first+count <= had:
		return base[first : first+count], nil
	case p.Farm == nil || count > 0:
		return nil, fmt.Errorf("%w: it has farms %d to %d of %d, and one of %d bytes, as one part", ErrBody, first, first+count, had, len(p.Farm))
	}
	e, err := decodeHead(p.Farm)
	if err == nil && (len(p.Runs) > 0 || hasPacked(&e.farm)) {
		var from *entry
		if first < had {
			from = base[first]
		}
		if err = e.resolve(from, p.Runs); err != nil {
			err = fmt.Errorf("%w: %w", ErrBody, err)
		}
	}
	return []*entry{e}, err
}

// readRest decodes a configuration without farms.
func (r *read) readRest(b []byte) error {
	if len(b) <= farmsAt || string(b[1:farmsAt]) != farmsName {
		return fmt.Errorf("%d bytes are no configuration without farms", len(b))
	}
	var all body
	if err := decoding.Unmarshal(b, &all); err != nil {
		return err
	}
	if all.Farms != nil {
		return fmt.Errorf("%d farms are where there are none", len(all.Farms))
	}
	r.rest, r.restDigest = all, sha256.Sum256(b[farmsAt+1:])
	return nil
}
