package command

import (
	"context"
	"encoding/json"
	"fmt"
	"net/http"
	"net/url"
	"path/filepath"
	"regexp"
	"strings"

	"github.com/sluicelb/sluice/cmd/cli/client"
	"github.com/sluicelb/sluice/cmd/cli/excerpt"
	"github.com/sluicelb/sluice/cmd/cli/shell"
	"github.com/sluicelb/sluice/mgmt/probe"
	"github.com/sluicelb/sluice/mgmt/probe/all"
)

// instead handles a write request that a flag replaces by something else. done is false if
// it must be sent.
func (c *Line) instead(ctx context.Context, r client.Request) (done bool, err error) {
	switch {
	case c.onlyReads && r.Changes():
		return true, Usagef("--watch: this command changes something and would repeat the change")
	case c.ShowAPI && !r.Changes():
		c.lastRead = c.curl(r)
		return false, nil
	case c.ShowAPI:
		c.shown = append(c.shown, c.curl(r)+"\n")
		return true, ErrShown
	case c.ShowYAML && r.Changes():
		part, err := c.afterwards(ctx, r)
		if err != nil {
			return true, err
		}
		c.shown = append(c.shown, part)
		return true, ErrShown
	case c.DryRun && r.Changes():
		return true, c.planned(ctx, r)
	}
	return false, nil
}

// curl returns the curl command line of a call. A placeholder variable stands for the key;
// secrets in the body are omitted.
func (c *Line) curl(r client.Request) string {
	words, address := []string{"curl"}, "http://localhost"
	if r.Method != http.MethodGet {
		words = append(words, "-X", r.Method)
	}
	if c.API.URL == "" {
		words = append(words, "--unix-socket", shell.Quote(filepath.Join(c.API.Data, client.Socket)))
	} else {
		address = strings.TrimRight(c.API.URL, "/")
		if c.API.Insecure {
			words = append(words, "-k")
		}
		if c.API.CACert != "" {
			words = append(words, "--cacert", shell.Quote(c.API.CACert))
		}
	}
	if c.API.URL != "" || c.API.Key != "" {
		words = append(words, "-H", `"ZAPI_KEY: $SLUICE_KEY"`)
	}
	if r.IfMatch != "" {
		words = append(words, "-H", shell.Quote("If-Match: "+r.IfMatch))
	}
	words = append(words, sentArguments(r)...)
	r.Query = c.withPendingFlags(r.Method, r.Query)
	target := address + r.Target()
	line := strings.Join(append(words, shell.Quote(target)), " ")
	switch {
	case len(r.Sources) > 1 && r.ContentType == DocumentType:
		cats := make([]string, len(r.Sources))
		for i, name := range r.Sources {
			cats[i] = "cat " + shell.Quote(name)
		}
		return "{ " + strings.Join(cats, "; echo; echo ---; ") + "; } | " + line
	case len(r.Sources) > 1:
		return "cat " + quoted(r.Sources) + " | " + line
	}
	return line
}

// sentArguments returns the curl arguments for a body.
func sentArguments(r client.Request) []string {
	kind := r.ContentType
	if kind == "" {
		kind = "application/json"
	}
	head := []string{"-H", shell.Quote("Content-Type: " + kind), "--data-binary"}
	switch {
	case len(r.Sources) == 1:
		return append(head, shell.Quote("@"+r.Sources[0]))
	case len(r.Sources) > 1:
		return append(head, "@-")
	case len(r.Body) == 0:
		return nil
	}
	return []string{head[0], head[1], "--data", shell.Quote(withoutSecrets(r.Body))}
}

func quoted(words []string) string {
	out := make([]string, len(words))
	for i, word := range words {
		out[i] = shell.Quote(word)
	}
	return strings.Join(out, " ")
}

// secretName matches fields with secret values.
var secretName = regexp.MustCompile(`(?i)pass(word|phrase)|secret|zapikey|community|^auth_(users|keys)$|^key$`)

// userinfo matches the part of a URL that may contain a password.
var userinfo = regexp.MustCompile(`://[^/@\s]*:[^/@\s]*@`)

// credentials matches header lines with credentials.
var credentials = regexp.MustCompile(`(?i)^((?:proxy-)?authorization|cookie|x-api-key): *\S.*`)

// hasSecret reports whether a text contains a secret, regardless of its field.
func hasSecret(text string) bool { return userinfo.MatchString(text) || credentials.MatchString(text) }

// commandShown returns a health check command with passwords masked.
func commandShown(command string) string {
	return (&probe.Known{Checks: all.Checks()}).Masked(command)
}

// withoutSecrets returns a body with secrets replaced by names.
func withoutSecrets(body []byte) string {
	var fields any
	if json.Unmarshal(body, &fields) != nil {
		return string(body)
	}
	var out strings.Builder
	e := json.NewEncoder(&out)
	e.SetEscapeHTML(false) // the output is not HTML
	if e.Encode(masked(fields)) != nil {
		return "{}"
	}
	return strings.TrimSuffix(out.String(), "\n")
}

// maskOf returns what stands for the value of a secret field.
func maskOf(name string) string { return "<" + name + ">" }

func masked(v any) any {
	switch v := v.(type) {
	case map[string]any:
		for name := range v {
			command, isText := v[name].(string)
			switch {
			case secretName.MatchString(name) && v[name] != nil && v[name] != "":
				v[name] = maskOf(name)
			case name == "command" && isText:
				v[name] = commandShown(command)
			default:
				v[name] = masked(v[name])
			}
		}
	case []any:
		for i := range v {
			v[i] = masked(v[i])
		}
	case string:
		return credentials.ReplaceAllString(userinfo.ReplaceAllString(v, "://<user>:<password>@"), "$1: <$1>")
	}
	return v
}

// IsPrivate reports whether command-line words contain a secret.
func IsPrivate(words []string) bool {
	for i, word := range words {
		name, value, given := strings.Cut(strings.TrimLeft(word, "-"), "=")
		name = strings.ReplaceAll(name, "-", "_")
		flag := strings.HasPrefix(word, "--") && i+1 < len(words)
		if flag && !given {
			value = words[i+1]
		}
		switch {
		case (given || flag) && secretName.MatchString(name), hasSecret(word), hasSecret(value), strings.HasPrefix(word, "-H") && hasSecret(word[2:]):
			return true
		case name == "command" && commandShown(value) != value:
			return true
		}
	}
	return false
}

// afterwards returns the part of the document that a request would change, after a dry run.
func (c *Line) afterwards(ctx context.Context, r client.Request) (string, error) {
	now, err := c.exchange(ctx, client.Request{Method: http.MethodGet, Path: "/config", Query: url.Values{"format": {"yaml"}}})
	if err != nil {
		return "", err
	}
	a, err := c.exchange(ctx, r.DryRun())
	if err != nil {
		return "", err
	}
	var body struct{ Params struct{ Diff string } }
	if err := a.Decode(&body); err != nil {
		return "", err
	}
	part, err := excerpt.After(string(now.Body), body.Params.Diff)
	switch {
	case err != nil:
		return "", err
	case body.Params.Diff == "":
		return "# The document would not change.\n", nil
	case part == "":
		return "# It would be removed from the document.\n", nil
	}
	return part, nil
}

// nameOfNew returns the name of a created object; for a key it is the key itself, which is
// never shown again.
func nameOfNew(a client.Response) string {
	var body struct{ Params map[string]any }
	if a.Decode(&body) != nil {
		return ""
	}
	for _, name := range []string{"key", "farmname", "name", "file", "id", "session"} {
		switch v := body.Params[name].(type) {
		case string:
			return v
		case float64:
			return fmt.Sprint(v)
		}
	}
	return ""
}

// DocumentType is the content type of a document.
const DocumentType = "application/yaml"
