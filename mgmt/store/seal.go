package store

import (
	"bytes"
	"fmt"

	bolt "go.etcd.io/bbolt"

	"github.com/sluicelb/sluice/core/farm"
)

// takenOver is up to how many changed farms a revision takes over their pieces. More are
// compressed together: many farms that are alike take less room so, and they are kept for a
// thousand revisions. Large farms are always taken over.
const takenOver = 4

// partPieces gives the pieces of farms of the current configuration.
type partPieces struct {
	farms, zones *bolt.Bucket
	parts        heldParts
	position     map[uint32]int // by farm ID
}

// piecesOf are those of a configuration that putParts wrote in the transaction.
func piecesOf(tx *bolt.Tx, parts heldParts, steps *comparison, all bool) *partPieces {
	p := &partPieces{farms: tx.Bucket(farmsBucket), zones: tx.Bucket(zonesBucket), parts: parts, position: map[uint32]int{}}
	if all {
		for i := range steps.new.Farms {
			p.position[steps.new.Farms[i].ID] = i
		}
		return p
	}
	for i := range steps.changed {
		at := steps.changed[i].at
		p.position[steps.new.Farms[at].ID] = at
	}
	return p
}

// held describes a farm of the current configuration; nil if there is no such farm.
func (p *partPieces) held(id uint32) *heldFarm {
	if p == nil {
		return nil
	}
	at, is := p.position[id]
	if !is {
		return nil
	}
	return &p.parts.farms[at]
}

// pieces returns the piece of a farm and then those of each of its zones. It returns nil if
// one is not as it was written: the disk damaged it, but not the farm in memory.
func (p *partPieces) pieces(id uint32, held *heldFarm) [][][]byte {
	ok := true
	piece := func(record []byte, sum digest) []byte {
		ok = ok && digestOf(record) == sum && intact(record) && pieceOf(record) != nil
		return pieceOf(record)
	}
	out := [][][]byte{{piece(p.farms.Get(farmKey(id)), held.sum)}}
	for _, chunks := range held.zones {
		of := make([][]byte, len(chunks))
		for i, c := range chunks {
			of[i] = piece(p.zones.Get(chunkKey(id, c.id)), c.sum)
		}
		out = append(out, of)
	}
	if !ok {
		return nil
	}
	return out
}

// sealRevision makes the record of a revision. Its farms are encoded, or taken over from
// the current configuration, nil for none.
func sealRevision(e *entry, current *partPieces) ([]byte, error) {
	head, err := plainHead(&e.Revision)
	if err != nil {
		return nil, err
	}
	but := e.Change
	but.Farms = nil
	change, err := packing.Marshal(&but)
	if err != nil {
		return nil, fmt.Errorf("encode change: %w", err)
	}
	out := bytes.NewBuffer(make([]byte, sumSize, sumSize+len(head)+len(change)))
	s := &sealer{compressor: compress(out), few: len(e.Change.Farms) <= takenOver, current: current}
	defer s.end()
	s.write(head)
	s.write(change)
	for i := range e.Change.Farms {
		f := &e.Change.Farms[i]
		if err := s.farm(f, e.Change.edits[f.ID]); err != nil {
			return nil, err
		}
	}
	s.close()
	return summed(out.Bytes()), nil
}

// sealer writes the farms of a revision.
type sealer struct {
	*compressor
	few     bool
	current *partPieces
}

func (s *sealer) farm(f *farm.Farm, edits []zoneEdit) error {
	large := edits != nil || isLarge(f)
	if held := s.current.held(f.ID); held != nil && edits == nil && (large || s.few) {
		if pieces := s.current.pieces(f.ID, held); pieces != nil {
			return s.takeOver(pieces)
		}
	}
	if large {
		return s.large(f, edits)
	}
	plain, err := plainFarm(f)
	if err == nil {
		s.write(plain)
	}
	return err
}

// takeOver inserts the pieces of a farm, and the zones before those of their chunks.
func (s *sealer) takeOver(pieces [][][]byte) error {
	for zone, of := range pieces { // the first is the farm itself
		if zone > 0 && len(of) > 0 {
			if err := s.item(&zoneItem{Zone: uint32(zone)}); err != nil {
				return err
			}
		}
		for _, piece := range of {
			s.insert(piece)
		}
	}
	return nil
}

// large writes a farm and then its zones, those with an edit as that.
func (s *sealer) large(f *farm.Farm, edits []zoneEdit) error {
	short := bare(f)
	plain, err := plainFarm(&short)
	if err != nil {
		return err
	}
	s.write(plain)
	for i := range edits {
		if err := s.item(edits[i].item()); err != nil {
			return err
		}
	}
	for i := range zonesOf(f) {
		zone := &zonesOf(f)[i]
		for at, n := 0, zone.Len(); at < n; at += chunkTarget {
			records := zone.Slice(at, min(n, at+chunkTarget))
			if err := s.item(&zoneItem{Zone: uint32(i + 1), Records: chunkOf(records)}); err != nil {
				return err
			}
		}
	}
	return nil
}

func (s *sealer) item(item *zoneItem) error {
	plain, err := plainItem(item)
	if err == nil {
		s.write(plain)
	}
	return err
}

func plainHead(r *Revision) ([]byte, error) {
	if _, err := r.Time.MarshalText(); err != nil { // it could not be read
		return nil, fmt.Errorf("encode revision: %w", err)
	}
	head, err := packing.Marshal(r)
	if err != nil {
		return nil, fmt.Errorf("encode revision: %w", err)
	}
	return head, nil
}

func plainFarm(f *farm.Farm) ([]byte, error) {
	plain, err := packing.Marshal(storedFarm{Farm: f, Said: f.Said()})
	if err != nil {
		return nil, fmt.Errorf("encode farm %s: %w", f.Name, err)
	}
	return plain, nil
}

func plainItem(item *zoneItem) ([]byte, error) {
	plain, err := packing.Marshal(item)
	if err != nil {
		return nil, fmt.Errorf("encode records: %w", err)
	}
	return plain, nil
}
