package snmp

import (
	"encoding/binary"
	"errors"
	"fmt"
	"io"
	"net"
	"time"

	"github.com/posteo/go-agentx/pdu"
)

// Limits of a session.
const (
	maxPayload = 64 << 10
	maxRanges  = 128
	openTime   = 5 * time.Second
	answerTime = 5 * time.Second
	priority   = 127
)

// notWritable is the error status of a set request (RFC 3416).
const notWritable pdu.Error = 17

// session is one connection to snmpd.
type session struct {
	conn net.Conn
	id   uint32
	data func() *Data
}

// open opens the session and registers the subtree root.
func (s *session) open() error {
	_ = s.conn.SetDeadline(time.Now().Add(openTime))
	hello := &pdu.Open{}
	hello.ID.SetIdentifier(root)
	hello.Description.Text = "Sluice"
	answer, err := s.ask(pdu.TypeOpen, hello)
	if err != nil {
		return err
	}
	s.id = answer.SessionID
	register := &pdu.Register{}
	register.Timeout.Priority = priority
	register.Subtree.SetIdentifier(root)
	if _, err := s.ask(pdu.TypeRegister, register); err != nil {
		return err
	}
	return s.conn.SetDeadline(time.Time{})
}

// ask sends a request and waits for its response.
func (s *session) ask(kind pdu.Type, packet pdu.Packet) (*pdu.Header, error) {
	if err := s.send(&pdu.Header{Version: 1, Type: kind, SessionID: s.id}, packet); err != nil {
		return nil, err
	}
	for {
		h, payload, err := s.receive()
		if err != nil {
			return nil, err
		}
		if h.Type != pdu.TypeResponse {
			continue // requests cannot be for us yet
		}
		if len(payload) < 8 {
			return nil, errors.New("snmpd answers with less than an answer")
		}
		if code := binary.LittleEndian.Uint16(payload[4:]); code != 0 {
			return nil, fmt.Errorf("snmpd refuses it: %s", pdu.Error(code))
		}
		return h, nil
	}
}

// serve responds to requests until snmpd or the connection ends.
func (s *session) serve() error {
	for {
		h, payload, err := s.receive()
		if err != nil {
			return err
		}
		out := &pdu.Response{}
		switch h.Type {
		case pdu.TypeGet, pdu.TypeGetNext:
			if err := s.answer(h.Type, payload, out); err != nil {
				return err
			}
		case pdu.TypeClose:
			return errors.New("snmpd ended the session")
		case pdu.TypeResponse, pdu.TypeCleanupSet:
			continue // an unexpected response, or a request without one
		default:
			out.Error = notWritable
			if h.Type == pdu.TypeGetBulk || h.Type == pdu.TypePing {
				out.Error = pdu.ErrorProcessing
			}
		}
		if err := s.conn.SetWriteDeadline(time.Now().Add(answerTime)); err != nil {
			return err
		}
		if err := s.send(&pdu.Header{Version: 1, Type: pdu.TypeResponse, SessionID: h.SessionID, TransactionID: h.TransactionID, PacketID: h.PacketID}, out); err != nil {
			return err
		}
	}
}

func (s *session) answer(kind pdu.Type, payload []byte, out *pdu.Response) error {
	ranges, err := readRanges(payload)
	if err != nil {
		return err
	}
	all := tables(s.data())
	for i := range ranges {
		from, to := ranges[i].From.GetIdentifier(), ranges[i].To.GetIdentifier()
		if kind == pdu.TypeGet {
			if v, found := get(all, from); found {
				out.Variables.Add(v.oid, v.kind, v.is)
			} else {
				out.Variables.Add(from, pdu.VariableTypeNoSuchObject, nil)
			}
			continue
		}
		if v, found := next(all, from, ranges[i].From.GetInclude(), to); found {
			out.Variables.Add(v.oid, v.kind, v.is)
		} else {
			out.Variables.Add(from, pdu.VariableTypeEndOfMIBView, nil)
		}
	}
	return nil
}

// readRanges parses the requested ranges. The codec trusts lengths and may panic, which
// becomes an error.
func readRanges(payload []byte) (ranges pdu.Ranges, err error) {
	defer func() {
		if recover() != nil {
			ranges, err = nil, errors.New("snmpd asks what cannot be read")
		}
	}()
	if len(payload) > maxRanges*16 && len(payload) > maxPayload {
		return nil, errors.New("snmpd asks for too much at once")
	}
	err = ranges.UnmarshalBinary(payload)
	return ranges, err
}

func (s *session) send(h *pdu.Header, packet pdu.Packet) error {
	b, err := (&pdu.HeaderPacket{Header: h, Packet: packet}).MarshalBinary()
	if err != nil {
		return err
	}
	_, err = s.conn.Write(b)
	return err
}

// networkOrder is the flag of packets that the codec cannot read.
const networkOrder = 1 << 4

func (s *session) receive() (*pdu.Header, []byte, error) {
	head := make([]byte, pdu.HeaderSize)
	if _, err := io.ReadFull(s.conn, head); err != nil {
		return nil, nil, err
	}
	h := &pdu.Header{}
	if err := h.UnmarshalBinary(head); err != nil {
		return nil, nil, err
	}
	switch {
	case head[2]&networkOrder != 0:
		return nil, nil, errors.New("snmpd answers in another byte order")
	case h.PayloadLength > maxPayload:
		return nil, nil, fmt.Errorf("snmpd sends %d bytes at once, at most %d are read", h.PayloadLength, maxPayload)
	}
	payload := make([]byte, h.PayloadLength)
	_, err := io.ReadFull(s.conn, payload)
	return h, payload, err
}
