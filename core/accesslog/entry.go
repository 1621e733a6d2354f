package accesslog

import (
	"net/netip"
	"unsafe"
)

// Maximum lengths of texts in bytes. Longer texts are truncated, and Cut is set.
const (
	MaxMethod      = 32
	MaxHost        = 272
	MaxPath        = 2048
	MaxRequestID   = 64
	MaxAgent       = 512
	MaxReferer     = 1024
	MaxReason      = 200
	MaxHeaders     = 8 // selected request headers
	MaxHeaderName  = 64
	MaxHeaderValue = 512

	// headerFront is the size of the lengths before the name and value of a header.
	headerFront = 4
	// MaxText is the maximum size of all texts of a record together.
	MaxText = MaxMethod + MaxHost + MaxPath + MaxRequestID + MaxAgent + MaxReferer + MaxReason +
		MaxHeaders*(headerFront+MaxHeaderName+MaxHeaderValue)
	// MaxRecord is the maximum size of a record in a ring.
	MaxRecord = (int(unsafe.Sizeof(fixed{})) + MaxText + align - 1) &^ (align - 1)
)

// Exchange holds the data of an exchange except its texts. Times that do not apply are
// zero.
type Exchange struct {
	// Time is when the request head was complete, in Unix nanoseconds.
	Time int64
	// Connect is the duration of the last connect to a backend. Response is the time
	// from sending the request to the response head. FirstByte and Total are the times
	// from the complete request head to the response head and to the last byte. Queue
	// is the wait for a backend with free capacity. All are in nanoseconds.
	Queue, Connect, Response, FirstByte, Total int64
	BytesIn, BytesOut                          uint64 // from and to the client
	// Farm, Service and Backend are stable numbers, 0 for none.
	Farm, Service, Backend uint32
	Flags                  Flags
	Status                 uint16 // 0 without a response
	// TLSVersion and Cipher are the constants of crypto/tls; 0 without TLS.
	TLSVersion, Cipher uint16
	// Rejection is the class of the rejection plus one; 0 for none.
	Rejection uint8
	Proto     Proto
	Tries     uint8 // number of backends and connections tried
	Loop      uint8
	// Why is the reason for the choice of Backend.
	Why Why
}

// fixed is the beginning of all records. The texts follow in the order of their
// lengths.
type fixed struct {
	size   uint32 // of the whole record, a multiple of align
	serial uint32 // counts the records of the ring
	Exchange
	texts
}

// texts holds the lengths of the texts and the client's address.
type texts struct {
	client                              [16]byte
	port                                uint16
	host, path, agent, referer, headers uint16
	method, requestID, reason           uint8
	known                               uint8 // 1 if client and port are set
}

const fixedSize = int(unsafe.Sizeof(fixed{}))

// Entry is a record under construction. It belongs to one loop. Texts must be set in
// the order of its methods, each at most once. Begin resets the entry for another
// exchange and keeps its memory.
type Entry struct {
	Exchange
	texts
	text []byte
}

// Begin resets the entry.
func (e *Entry) Begin() {
	e.Exchange = Exchange{}
	e.texts = texts{}
	e.text = e.text[:0]
}

// Client sets the client's address.
func (e *Entry) Client(a netip.AddrPort) {
	if a.IsValid() {
		e.client, e.port, e.known = a.Addr().As16(), a.Port(), 1
	}
}

// Method sets the request's method.
func (e *Entry) Method(b []byte) { e.texts.method = uint8(e.add(b, MaxMethod)) }

// Host sets the canonical host.
func (e *Entry) Host(b []byte) { e.texts.host = uint16(e.add(b, MaxHost)) }

// Path sets the canonical path with its query.
func (e *Entry) Path(b []byte) { e.texts.path = uint16(e.add(b, MaxPath)) }

// RequestID sets the ID of the exchange.
func (e *Entry) RequestID(b []byte) { e.texts.requestID = uint8(e.add(b, MaxRequestID)) }

// Agent sets the value of User-Agent.
func (e *Entry) Agent(b []byte) { e.texts.agent = uint16(e.add(b, MaxAgent)) }

// Referer sets the value of Referer.
func (e *Entry) Referer(b []byte) { e.texts.referer = uint16(e.add(b, MaxReferer)) }

// Header adds a selected request header. It may be called MaxHeaders times.
func (e *Entry) Header(name string, value []byte) {
	before := len(e.text)
	if int(e.texts.headers)+headerFront+MaxHeaderName+MaxHeaderValue > MaxHeaders*(headerFront+MaxHeaderName+MaxHeaderValue) {
		e.Flags |= Cut
		return
	}
	name = name[:min(len(name), MaxHeaderName)]
	if len(value) > MaxHeaderValue {
		e.Flags |= Cut
		value = value[:MaxHeaderValue]
	}
	e.text = append(e.text, byte(len(name)), 0, byte(len(value)), byte(len(value)>>8))
	e.text = append(append(e.text, name...), value...)
	e.texts.headers += uint16(len(e.text) - before)
}

// Reason sets or replaces the reason for a rejection or failure. No other text may be
// set after it.
func (e *Entry) Reason(reason string) {
	e.text = e.text[:len(e.text)-int(e.texts.reason)]
	reason = reason[:min(len(reason), MaxReason)]
	e.texts.reason = uint8(len(reason))
	e.text = append(e.text, reason...)
}

// add appends a text, truncated to max bytes, and returns its length.
func (e *Entry) add(b []byte, max int) int {
	if len(b) > max {
		e.Flags |= Cut
		b = b[:max]
	}
	e.text = append(e.text, b...)
	return len(b)
}
