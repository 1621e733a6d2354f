package family

import (
	"bytes"
	"encoding/json"
	"io"
	"net/http"
	"slices"
	"strconv"

	"github.com/sluicelb/sluice/core/farm"
)

// Fields that older clients read from an object and send back although they cannot be set.
// A client that decodes a response into one type, changes a field and sends everything back
// sends the fields of all profiles, most of them empty.
var (
	// ours lists the fields that the family's own responses lack in all generations.
	ours = []string{"configured", "maintenance", "actual", "problem"}

	farmAnswer    = []string{"farmname", "profile", "status", "services", "certlist", "backends", "sessions", "ipds", "farmguardian"}
	serviceAnswer = []string{"id", "farmname", "status", "backends", "farmguardian", "fgenabled", "fgscript", "fgtimecheck", "fglog"}
	backendAnswer = []string{"id", "farmname", "servicename", "service", "status"}

	// tlsFields have no meaning for plain HTTP farms.
	tlsFields = []string{"ciphers", "cipherc", "disable_sslv2", "disable_sslv3", "disable_tlsv1", "disable_tlsv1_1", "disable_tlsv1_2"}
	// httpFields have no meaning for farms of other profiles.
	httpFields = append([]string{"listener", "contimeout", "restimeout", "resurrectime", "reqtimeout", "rewritelocation", "httpverb",
		"error414", "error500", "error501", "error503"}, tlsFields...)
	// inlineGuardian lists the fields of an inline health check, which had its own
	// operation.
	inlineGuardian = []string{"fgenabled", "fgscript", "fgtimecheck", "fglog"}
)

// maxBody bounds the body that is inspected; operations refuse larger ones.
const maxBody = 1 << 20

// farmFields returns the fields to remove from a change of the farm in the path.
func (c *call) farmFields() []string {
	out := slices.Concat(farmAnswer, inlineGuardian)
	cfg, _ := c.config(c.r.Context())
	f := cfg.Farm(c.at[1])
	switch {
	case f == nil:
		return out
	case f.Carries() != farm.TrafficRequests:
		return append(out, httpFields...)
	}
	listener, _ := c.body()["listener"].(string)
	if listener == "https" || listener == "" && f.HTTPS() {
		return out
	}
	return append(out, tlsFields...)
}

// serviceFields returns the fields to remove from a change of a service.
func (c *call) serviceFields() []string {
	body := c.body()
	if body["redirecttype"] == "" && (body["redirect"] == nil || body["redirect"] == "") {
		return append([]string{"redirecttype"}, serviceAnswer...) // without a redirect
	}
	return serviceAnswer
}

// body returns the body of the call, or nil if it is not an object. In that case the
// operation reports the error.
func (c *call) body() map[string]any {
	raw, err := io.ReadAll(io.LimitReader(c.r.Body, maxBody+1))
	c.r.Body = both{io.MultiReader(bytes.NewReader(raw), c.r.Body), c.r.Body}
	if err != nil || len(raw) > maxBody {
		return nil
	}
	return object(raw)
}

// both reads from one source and closes another.
type both struct {
	io.Reader
	io.Closer
}

// leaveOut removes fields from the body. A body without these fields is passed on byte for
// byte, so that the operation sees any oddities.
func (c *call) leaveOut(names []string) {
	body := c.body()
	before := len(body)
	for _, name := range names {
		delete(body, name)
	}
	if len(body) != before {
		c.send(body)
	}
}

// send replaces the body of the call.
func (c *call) send(body map[string]any) {
	raw, _ := json.Marshal(body) // it was decoded from JSON
	c.r = withBody(c.r, raw)
}

func withBody(r *http.Request, raw []byte) *http.Request {
	out := r.Clone(r.Context())
	out.Body, out.ContentLength = io.NopCloser(bytes.NewReader(raw)), int64(len(raw))
	out.Header.Set("Content-Length", strconv.Itoa(len(raw)))
	out.TransferEncoding = nil
	return out
}

// object decodes a JSON object; it returns nil for anything else. Numbers keep their
// notation.
func object(raw []byte) map[string]any {
	var out map[string]any
	d := json.NewDecoder(bytes.NewReader(raw))
	d.UseNumber()
	if d.Decode(&out) != nil || d.More() {
		return nil
	}
	return out
}
