package rest

import (
	"net/http"
	"slices"
	"strconv"
	"time"

	"github.com/danielgtaylor/huma/v2"

	"github.com/sluicelb/sluice/core/farm"
	"github.com/sluicelb/sluice/mgmt/rbac"
)

// AliveEvery is how often who watches a stream hears something at least.
const AliveEvery = 15 * time.Second

// eventWrite is how long a client may take for an event.
const eventWrite = 10 * time.Second

// eventStream is the content of a stream of events (HTML, section 9.2).
const eventStream = "text/event-stream"

// Renew brings the sender and the configuration of a call up to date. It returns false if
// the sender may not make the call any more: the credential, the user or a right is gone.
// An answer that takes long needs it, because rights are taken away meanwhile.
func (c *Call) Renew() bool {
	by, holds := c.host.Renew(c.Request, c.By)
	if !holds {
		return false
	}
	c.By = by
	c.Config, _ = c.host.Applier.CurrentIn(c.Context)
	return by.May(c.op.Needs) && c.checkWhole() == nil
}

// Sees reports whether there is a farm of that stable number which the caller sees.
func (c *Call) Sees(id uint32) bool {
	return slices.ContainsFunc(c.Farms(), func(f farm.Farm) bool { return f.ID == id })
}

// Streamed writes an answer that is not held in memory, see events and download.
type Streamed = func(http.ResponseWriter)

// Sender writes to a stream of events, and reports false once the client is gone or
// does not take what is written in time.
type Sender func(parts ...string) bool

// Stream makes an operation whose answer is events without end, which about describes.
func Stream(path string, needs rbac.Permission, summary, what, about string, handler func(*Call) (Streamed, error)) *Operation {
	o := &Operation{Method: Get, Path: path, Needs: needs, Summary: summary, success: http.StatusOK}
	return streamedBy(o, func() huma.Operation { return o.documentedStream(what, about) }, handler)
}

// streamedBy is answeredBy for what is not held in memory; the library has a word of its
// own for that.
func streamedBy(o *Operation, tell func() huma.Operation, handler func(*Call) (Streamed, error)) *Operation {
	answeredBy(o, tell, handler)
	o.enter = entered[func(huma.Context)](tell)
	return o
}

// documentedStream is documented for an answer without end.
func (o *Operation) documentedStream(what, about string) huma.Operation {
	d := o.documented(jsonContent)
	d.Description += " The answer is a stream: " + about + "."
	d.Responses[strconv.Itoa(o.success)] = &huma.Response{Description: what,
		Content: map[string]*huma.MediaType{eventStream: {Schema: &huma.Schema{Type: huma.TypeString}}}}
	return d
}

// Events is an answer of events, which tell sends until it returns.
func Events(tell func(Sender)) Streamed {
	return func(out http.ResponseWriter) {
		out.Header().Set("Content-Type", eventStream)
		out.Header().Set("X-Accel-Buffering", "no") // proxies must not collect it
		control := http.NewResponseController(out)
		tell(func(parts ...string) bool {
			_ = control.SetWriteDeadline(time.Now().Add(eventWrite))
			for _, p := range parts {
				if _, err := out.Write([]byte(p)); err != nil {
					return false
				}
			}
			return control.Flush() == nil
		})
	}
}
