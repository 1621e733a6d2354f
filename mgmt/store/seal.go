package store

import (
	"bytes"
	"fmt"

	bolt "go.etcd.io/bbolt"

	"github.com/sluicelb/sluice/core/farm"
)

// takenOver is the number of changed farms up to which a revision reuses their pieces. More
// farms are compressed together, because similar farms need less space then and revisions are
// kept for long. Large farms are always reused.
const takenOver = 4

// partPieces returns the pieces of farms of the current configuration.
type partPieces struct {
	farms, zones *bolt.Bucket
	parts        heldParts
	position     map[uint32]int // by farm ID
}

// piecesOf returns the pieces of a configuration that putParts wrote in the transaction.
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

// held returns the description of a farm of the current configuration, or nil.
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

// pieces returns the piece of a farm, followed by the pieces of each zone. It returns nil if
// the disk has damaged one, which does not affect the farm in memory.
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

// sealRevision returns the record of a revision. Its farms are encoded, or reused from current,
// which may be nil.
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

// takeOver inserts the pieces of a farm, with an item for each zone before its chunks.
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

// large writes a farm and then its zones, edited ones as edits.
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
	if _, err := r.Time.MarshalText(); err != nil { // such a time could not be read
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
