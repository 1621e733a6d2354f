package snapshot

import (
	"crypto/sha256"
	"encoding/binary"
	"fmt"
	"io"
	"os"

	"github.com/fxamacker/cbor/v2"

	"github.com/sluicelb/sluice/core/farm"
	"github.com/sluicelb/sluice/core/shm"
)

const (
	// maxDepth is what a configuration needs: config, farms, farm, settings,
	// services, service, backends, backend, its lists.
	maxDepth = 9
	// maxElements bounds the elements of all arrays together, so that a small
	// body cannot claim memory for millions of farms. Every ID in use makes
	// about 70,000; the rest is room for services that only redirect. Records come
	// on top: there may be one for every recordSize bytes, which is the least
	// that one takes. maxList is as many as a zone may have.
	maxElements = 1 << 18
	recordSize  = 20
	maxList     = 1 << 21
	// maxNames is more than any struct of the configuration has fields.
	maxNames = 64
)

var decoding = func() cbor.DecMode {
	mode, err := cbor.DecOptions{
		DupMapKey:         cbor.DupMapKeyEnforcedAPF,
		IndefLength:       cbor.IndefLengthForbidden,
		TagsMd:            cbor.TagsForbidden,
		ExtraReturnErrors: cbor.ExtraDecErrorUnknownField,
		FieldNameMatching: cbor.FieldNameMatchingCaseSensitive,
		// Texts are carried as the store has them; an engine never needs them
		// to be valid UTF-8, and a byte that is not must not stop a reload.
		UTF8:             cbor.UTF8DecodeInvalid,
		MaxNestedLevels:  maxDepth,
		MaxArrayElements: maxList,
		MaxMapPairs:      maxNames,
	}.DecMode()
	if err != nil {
		panic(err) // start-up: the options are constant
	}
	return mode
}()

// Decode returns the generation and the configuration in b, which it neither
// keeps nor changes. It verifies the encoding, not the meaning: see Check.
// Errors: ErrTruncated, ErrMagic, ErrLayout, ErrChecksum, ErrBody. No input
// makes it panic, and none takes more memory than a small multiple of a full
// configuration.
func Decode(b []byte) (generation uint64, cfg *farm.Config, err error) {
	return new(Reader).decode(b)
}

// Reader decodes one snapshot after the other, of which most farms are as they were:
// what has the same bytes is the farm it was, in the same place (farm.Farm is comparable).
// So nobody may change what it returned. The zero value knows nothing. One goroutine
// uses it at a time.
type Reader struct {
	last   *read // nil: nothing, or a snapshot that none can follow
	census census
}

// read is a snapshot that was decoded.
type read struct {
	farms      []*entry
	rest       body // without farms
	restDigest digest
	sum        digest
}

// config is what the snapshot says.
func (r *read) config() *farm.Config {
	cfg := &farm.Config{Farms: make([]farm.Farm, len(r.farms)), Certificates: r.rest.Certificates, Authorities: r.rest.Authorities, Challenges: r.rest.Challenges}
	for i, e := range r.farms {
		cfg.Farms[i] = e.farm
	}
	return cfg
}

// body is a farm.Config whose farms are not decoded yet.
type body struct {
	Farms        []raw              `json:"farms"`
	Certificates []farm.Certificate `json:"certificates,omitempty"`
	Authorities  []farm.Authority   `json:"authorities,omitempty"`
	Challenges   []farm.Challenge   `json:"challenges,omitempty"`
}

// raw is a part of the body, which is valid for as long as that is.
type raw []byte

// UnmarshalCBOR implements cbor.Unmarshaler.
func (r *raw) UnmarshalCBOR(b []byte) error {
	*r = b
	return nil
}

func (r *Reader) decode(b []byte) (generation uint64, cfg *farm.Config, err error) {
	content, err := verify(b)
	if err != nil {
		return 0, nil, err
	}
	generation = binary.LittleEndian.Uint64(b[16:])
	var next *read
	switch kind := binary.LittleEndian.Uint32(b[kindAt:]); kind {
	case kindWhole:
		cfg, next, err = r.whole(content)
	case kindFollows:
		if next, err = r.follow(content); err == nil {
			cfg = next.config()
		}
	default:
		err = fmt.Errorf("%w: it is of kind %d", ErrBody, kind)
	}
	if err != nil {
		return 0, nil, fmt.Errorf("generation %d: %w", generation, err)
	}
	r.last = next
	return generation, cfg, nil
}

// whole decodes the body of a whole snapshot.
func (r *Reader) whole(content []byte) (*farm.Config, *read, error) {
	fail := func(err error) (*farm.Config, *read, error) { return nil, nil, fmt.Errorf("%w: %w", ErrBody, err) }
	if len(content) == 0 {
		return fail(io.EOF)
	}
	// Unmarshal looks whether all of it is well-formed before it makes anything of it;
	// what is not may be counted wrong here, and is refused there.
	if major := content[0] >> 5; major != 5 { // null would decode to "no farms"
		return fail(fmt.Errorf("it is no map but CBOR type %d", major))
	}
	next := &read{}
	farms, rest, n := split(content)
	if err := (&limit{elements: n, size: len(content)}).check(); err != nil {
		return nil, nil, err
	}
	if err := decoding.Unmarshal(rest, &next.rest); err != nil {
		return fail(err)
	}
	if farms == nil {
		farms = next.rest.Farms
	}
	none := farms == nil
	next.rest.Farms, next.farms = nil, make([]*entry, len(farms))
	known, records := r.known(), limit{size: len(content)}
	for i, b := range farms {
		if len(known) > 0 {
			if next.farms[i] = known[sha256.Sum256(b)]; next.farms[i] != nil {
				continue
			}
		}
		var err error
		if next.farms[i], err = decodeFarm(b); err != nil {
			return nil, nil, err
		}
		if same := known[next.farms[i].digest]; same != nil {
			next.farms[i] = same
		}
		if err := records.add(next.farms[i]); err != nil {
			return nil, nil, err
		}
	}
	cfg := next.config()
	if none {
		cfg.Farms = nil
	}
	if len(farms) > 0 && len(rest) > farmsAt {
		next.restDigest = sha256.Sum256(rest[farmsAt+1:])
	}
	next.sum = sumOf(next.restDigest, next.farms)
	return cfg, next, nil
}

// known are the farms of the last snapshot.
func (r *Reader) known() map[digest]*entry {
	if r.last == nil {
		return nil
	}
	known := make(map[digest]*entry, len(r.last.farms))
	for _, e := range r.last.farms {
		known[e.digest] = e
	}
	return known
}

// decodeFarm decodes a farm with all that it has.
func decodeFarm(b raw) (*entry, error) {
	e, err := decodeEntry(b)
	switch {
	case err != nil:
	case !hasPacked(&e.farm):
		e.digest = sha256.Sum256(b)
	default:
		if err = e.identify(); err != nil {
			err = fmt.Errorf("%w: %w", ErrBody, err)
		}
	}
	return e, err
}

// decodeHead decodes a farm, whose packed records may be named by digests.
func decodeHead(b raw) (*entry, error) {
	e, err := decodeEntry(b)
	if err == nil {
		e.digest = sha256.Sum256(b)
	}
	return e, err
}

// decodeEntry decodes a farm without its digest.
func decodeEntry(b raw) (*entry, error) {
	e := &entry{size: len(b), elements: elements(b)}
	if err := (&limit{elements: e.elements, size: e.size}).check(); err != nil {
		return nil, err
	}
	if err := decoding.Unmarshal(b, &e.farm); err != nil {
		return nil, fmt.Errorf("%w: %w", ErrBody, err)
	}
	return e, nil
}

// limit bounds what farms take: the elements of their lists, by how many bytes there are,
// and their packed records.
type limit struct {
	elements uint64
	size     int
	records  uint64
}

// add counts farms; the error says that there are too many elements.
func (l *limit) add(farms ...*entry) error {
	for _, e := range farms {
		l.elements, l.size, l.records = l.elements+1+e.elements, l.size+e.size, l.records+e.records
	}
	return l.check()
}

func (l *limit) check() error {
	if l.records > maxPacked {
		return fmt.Errorf("%w: %d packed records, at most %d are possible", ErrBody, l.records, maxPacked)
	}
	if most := maxElements + uint64(l.size)/recordSize; l.elements > most {
		return fmt.Errorf("%w: %d list elements, at most %d are allowed in %d bytes", ErrBody, l.elements, most, l.size)
	}
	return nil
}

// verify checks the header in the order in which its parts can be trusted,
// and returns the body.
func verify(b []byte) (body []byte, err error) {
	// Foreign bytes are called that even when they are short.
	if n := min(len(b), len(magic)); string(b[:n]) != magic[:n] {
		return nil, fmt.Errorf("%w: it starts with %q, not with %q", ErrMagic, b[:n], magic)
	}
	if len(b) < headerSize {
		return nil, fmt.Errorf("%w: %d bytes, the header alone has %d", ErrTruncated, len(b), headerSize)
	}
	if got := binary.LittleEndian.Uint32(b[8:]); got != Layout {
		return nil, fmt.Errorf("%w: it has layout version %d, this program reads version %d: run the same release on both sides", ErrLayout, got, Layout)
	}
	length := binary.LittleEndian.Uint64(b[24:])
	if length > maxBody { // before the checksum reads it all
		return nil, fmt.Errorf("%w: %d bytes, at most %d are allowed", ErrBody, length, maxBody)
	}
	if have := uint64(len(b) - headerSize); have != length {
		return nil, fmt.Errorf("%w: the header announces a body of %d bytes, there are %d", ErrTruncated, length, have)
	}
	if sum := checksum(b); string(sum[:]) != string(b[sumAt:headerSize]) {
		return nil, ErrChecksum
	}
	return b[headerSize:], nil
}

// Load maps the sealed memory of f, decodes it and checks the configuration.
// The caller still owns f. Errors: shm.ErrNotSealed, those of Decode, and
// ErrConfig.
func Load(f *os.File) (generation uint64, cfg *farm.Config, err error) {
	return new(Reader).Load(f)
}

// Load is the function Load, also of snapshots that follow the one that was loaded last
// (ErrBase if it follows another one).
func (r *Reader) Load(f *os.File) (generation uint64, cfg *farm.Config, err error) {
	m, err := shm.MapSealed(f)
	if err != nil {
		return 0, nil, fmt.Errorf("load snapshot: %w", err)
	}
	defer m.Close()
	before := r.last
	generation, cfg, err = r.decode(m.Bytes())
	if err != nil {
		return 0, nil, fmt.Errorf("load snapshot: %w", err)
	}
	if err := r.census.check(cfg, r.last.farms); err != nil {
		r.last = before
		return 0, nil, fmt.Errorf("load snapshot: generation %d: %w", generation, err)
	}
	return generation, cfg, nil
}

// elements returns the number of elements of all arrays in b together, which
// must be one well-formed CBOR item without indefinite lengths (RFC 8949 §3).
// The library bounds each array; only the sum bounds the memory a body takes,
// because one byte of it can stand for a whole struct.
func elements(b []byte) (n uint64) {
	for len(b) > 0 {
		major, arg, rest := head(b)
		switch major {
		case 2, 3: // byte and text strings: arg bytes follow
			rest = rest[min(arg, uint64(len(rest))):]
		case 4: // arg elements follow, which are heads of their own
			n += arg
		}
		b = rest
	}
	return n
}

// split takes the farms out of a body: rest is the body with an empty list in their
// place, which the library looks at as a whole. It looks at farms one by one then, and at
// none whose bytes it has seen before: most of a body is these. Where the farms are not
// found, as in what is not well-formed, rest is all there is. n is elements.
func split(content []byte) (farms []raw, rest []byte, n uint64) {
	if len(content) <= farmsAt || string(content[1:farmsAt]) != farmsName {
		return nil, content, elements(content)
	}
	major, count, b := head(content[farmsAt:])
	if major != 4 || count == 0 || count > min(maxElements, uint64(len(b))) {
		return nil, content, elements(content)
	}
	farms, n = make([]raw, 0, count), count
	for range count {
		size, within := itemSize(b)
		if size == 0 {
			return nil, content, elements(content)
		}
		farms, b = append(farms, raw(b[:size])), b[size:]
		n += within
	}
	n += elements(b)
	rest = append(append(append(make([]byte, 0, farmsAt+1+len(b)), content[:farmsAt]...), 0x80), b...)
	return farms, rest, n
}

// itemSize is the length of the first item of b, and how many elements its arrays have;
// 0 when it is not whole, or has parts that bodies do not have: tags, and what is of
// indefinite length.
func itemSize(b []byte) (size int, n uint64) {
	whole := len(b)
	for items := uint64(1); items > 0; items-- {
		if len(b) == 0 || b[0]&0x1f > 27 {
			return 0, 0
		}
		major, arg, rest := head(b)
		switch {
		case rest == nil || major == 6 || (major == 2 || major == 3) && arg > uint64(len(rest)):
			return 0, 0
		case major == 2 || major == 3:
			rest = rest[arg:]
		case major == 4:
			items += min(arg, uint64(whole)) // more than there are is found at the end
			n += arg
		case major == 5:
			items += 2 * min(arg, uint64(whole))
		}
		b = rest
	}
	return whole - len(b), n
}

// head splits the first item head off b, which is not empty.
func head(b []byte) (major byte, arg uint64, rest []byte) {
	major, low := b[0]>>5, b[0]&0x1f
	b = b[1:]
	if low < 24 {
		return major, uint64(low), b
	}
	size := 1 << min(low-24, 3) // 24 … 27: 1, 2, 4 or 8 bytes follow
	if len(b) < size {          // not well-formed
		return major, 0, nil
	}
	var wide [8]byte
	copy(wide[8-size:], b)
	return major, binary.BigEndian.Uint64(wide[:]), b[size:]
}
