package cloud

import (
	"context"
	"crypto/hmac"
	"crypto/sha256"
	"encoding/hex"
	"encoding/xml"
	"net/http"
	"slices"
	"strings"
	"time"
)

const formType = "application/x-www-form-urlencoded; charset=utf-8"

// askAWS queries the account that the keys belong to.
func (m *Manager) askAWS(ctx context.Context, c *Credentials) (Account, error) {
	const body = "Action=GetCallerIdentity&Version=2011-06-15"
	r, err := http.NewRequestWithContext(ctx, http.MethodPost, m.options.AWS(c.Place), strings.NewReader(body))
	if err != nil {
		return Account{}, err
	}
	r.Header.Set("Content-Type", formType)
	sign(r, body, c, "sts", m.options.Now().UTC())
	status, answer, err := m.ask(r)
	if err != nil {
		return Account{}, err
	}
	if status != http.StatusOK {
		var refusal struct {
			Code string `xml:"Error>Code"`
		}
		_ = xml.Unmarshal(answer, &refusal) // without a readable answer there is no code
		return Account{}, refused(status, refusal.Code)
	}
	var who struct {
		Account string `xml:"GetCallerIdentityResult>Account"`
		Name    string `xml:"GetCallerIdentityResult>Arn"`
	}
	if err := xml.Unmarshal(answer, &who); err != nil || who.Account == "" {
		return Account{}, &Error{"the answer of AWS names no account"}
	}
	return Account{plain(who.Account), plain(who.Name)}, nil
}

// sign adds signature version 4 (AWS General Reference, "Signing AWS API requests") to a
// request with that body for a service. It signs Host, Content-Type and X-Amz-Date.
func sign(r *http.Request, body string, c *Credentials, service string, now time.Time) {
	stamp, day := now.Format("20060102T150405Z"), now.Format("20060102")
	r.Header.Set("X-Amz-Date", stamp)
	signed := map[string]string{"host": r.URL.Host, "content-type": r.Header.Get("Content-Type"), "x-amz-date": stamp}
	names := []string{"content-type", "host", "x-amz-date"}
	slices.Sort(names)
	path := r.URL.EscapedPath()
	if path == "" {
		path = "/"
	}
	lines := []string{r.Method, path, r.URL.Query().Encode()}
	for _, name := range names {
		lines = append(lines, name+":"+signed[name])
	}
	lines = append(lines, "", strings.Join(names, ";"), sum(body))
	scope := strings.Join([]string{day, c.Place, service, "aws4_request"}, "/")
	text := strings.Join([]string{"AWS4-HMAC-SHA256", stamp, scope, sum(strings.Join(lines, "\n"))}, "\n")
	key := []byte("AWS4" + c.Secret)
	for _, part := range []string{day, c.Place, service, "aws4_request"} {
		key = mac(key, part)
	}
	r.Header.Set("Authorization", "AWS4-HMAC-SHA256 Credential="+c.ID+"/"+scope+", SignedHeaders="+strings.Join(names, ";")+", Signature="+hex.EncodeToString(mac(key, text)))
}

func mac(key []byte, text string) []byte {
	h := hmac.New(sha256.New, key)
	h.Write([]byte(text))
	return h.Sum(nil)
}

func sum(text string) string {
	digest := sha256.Sum256([]byte(text))
	return hex.EncodeToString(digest[:])
}
