package link

import (
	"net"
	"os"
	"time"

	"github.com/sluicelb/sluice/core/explain"
)

// SetMessageTimeout shortens the timeout for stuck peers. It must be called before any
// connection exists.
func SetMessageTimeout(d time.Duration) { messageTimeout = d }

// EncodedPublication returns the body of a publication of count descriptors under one
// key.
func EncodedPublication(key string, count int) []byte {
	b, err := encode(&message{Publish: &publication{Opened: []opened{{key, count}}}})
	if err != nil {
		panic(err)
	}
	return b
}

// EncodedAck returns the body of an Ack.
func EncodedAck(a Ack) []byte {
	b, err := encode(&message{Ack: &a})
	if err != nil {
		panic(err)
	}
	return b
}

// EncodedSameAck returns the body of an Ack with the same listeners as before.
func EncodedSameAck(a Ack) []byte { return mustEncode(&message{Ack: &a, Same: true}) }

// EncodedHello returns the body of a Hello.
func EncodedHello(h Hello) []byte {
	b, err := encode(&message{Hello: &h})
	if err != nil {
		panic(err)
	}
	return b
}

// EncodedQuestion returns the body of a question.
func EncodedQuestion(service uint32, limit int) []byte {
	b, err := encode(&message{Ask: &question{Service: service, Limit: limit}})
	if err != nil {
		panic(err)
	}
	return b
}

// EncodedAnswer returns the body of an answer.
func EncodedAnswer(total int, list []Session, failed string) []byte {
	b, err := encode(&message{Answer: &answer{Total: total, List: list, Failed: failed}})
	if err != nil {
		panic(err)
	}
	return b
}

// EncodedText returns the body of an answer with a text.
func EncodedText(text string) []byte {
	b, err := encode(&message{Answer: &answer{Text: text}})
	if err != nil {
		panic(err)
	}
	return b
}

// ReadMessage reads one message from c and returns the error.
func ReadMessage(c *net.UnixConn) error {
	_, files, err := newWire(c).read()
	closeAll(files)
	return err
}

// Recode decodes b and encodes the result.
func Recode(b []byte) ([]byte, error) {
	m, err := decode(b)
	if err != nil {
		return nil, err
	}
	return encode(m)
}

// SplitCounts decodes b, splits n descriptors accordingly, and returns the number for
// each key.
func SplitCounts(b []byte, n int) (map[string]int, error) {
	m, err := decode(b)
	if err != nil || m.Publish == nil {
		return nil, err
	}
	_, groups, err := m.Publish.split(make([]*os.File, n))
	if err != nil {
		return nil, err
	}
	counts := map[string]int{}
	for key, sockets := range groups {
		counts[key] = len(sockets)
	}
	return counts, nil
}

// EncodedChange returns the body of a question that changes sessions.
func EncodedChange(c SessionChange) []byte {
	b, err := encode(&message{Ask: &question{Service: c.Service, Change: &c}})
	if err != nil {
		panic(err)
	}
	return b
}

// EncodedExplain returns the body of an explain question, EncodedExplanation that of
// its answer.
func EncodedExplain(q explain.Question) []byte {
	return mustEncode(&message{Ask: &question{Explain: &q}})
}

func EncodedExplanation(e explain.Explanation) []byte {
	return mustEncode(&message{Answer: &answer{Explanation: &e}})
}

// EncodedConnections returns the body of an answer with connections,
// EncodedConnectionQuestion that of the question.
func EncodedConnections(total int, list ...Connection) []byte {
	return mustEncode(&message{Answer: &answer{Total: total, Connections: list}})
}

func EncodedConnectionQuestion(backends []uint32, limit int, end bool) []byte {
	q := about(backends)
	q.Limit, q.End = limit, end
	return mustEncode(&message{Ask: &question{Connections: q}})
}

func mustEncode(m *message) []byte {
	b, err := encode(m)
	if err != nil {
		panic(err)
	}
	return b
}
