package cli

import (
	"context"
	"encoding/json"
	"fmt"
	"net/http"
	"net/url"
	"path/filepath"
	"regexp"
	"strings"

	"github.com/sluicelb/sluice/cmd/cli/excerpt"
	"github.com/sluicelb/sluice/cmd/cli/shell"
	"github.com/sluicelb/sluice/mgmt/probe"
	"github.com/sluicelb/sluice/mgmt/probe/all"
)

// instead handles a write request that a flag replaces by something else. done is false if
// it must be sent.
func (c *client) instead(ctx context.Context, r request) (done bool, err error) {
	switch {
	case c.onlyReads && r.changes():
		return true, usagef("--watch: this command changes something and would repeat the change")
	case c.showAPI && !r.changes():
		c.asked = c.curl(r)
		return false, nil
	case c.showAPI:
		c.shown = append(c.shown, c.curl(r)+"\n")
		return true, errShown
	case c.showYAML && r.changes():
		part, err := c.afterwards(ctx, r)
		if err != nil {
			return true, err
		}
		c.shown = append(c.shown, part)
		return true, errShown
	case c.dryRun && r.changes():
		return true, c.planned(ctx, r)
	}
	return false, nil
}

// curl returns the curl command line of a call. A placeholder variable stands for the key;
// secrets in the body are omitted.
func (c *client) curl(r request) string {
	words, address := []string{"curl"}, "http://localhost"
	if r.method != http.MethodGet {
		words = append(words, "-X", r.method)
	}
	if c.api.url == "" {
		words = append(words, "--unix-socket", shell.Quote(filepath.Join(c.api.data, Socket)))
	} else {
		address = strings.TrimRight(c.api.url, "/")
		if c.api.insecure {
			words = append(words, "-k")
		}
		if c.api.cacert != "" {
			words = append(words, "--cacert", shell.Quote(c.api.cacert))
		}
	}
	if c.api.url != "" || c.api.key != "" {
		words = append(words, "-H", `"ZAPI_KEY: $SLUICE_KEY"`)
	}
	if r.match != "" {
		words = append(words, "-H", shell.Quote("If-Match: "+r.match))
	}
	words = append(words, sentArguments(r)...)
	r.query = c.onTrial(r.method, r.query)
	target := address + r.target()
	line := strings.Join(append(words, shell.Quote(target)), " ")
	switch {
	case len(r.files) > 1 && r.kind == documentType:
		cats := make([]string, len(r.files))
		for i, name := range r.files {
			cats[i] = "cat " + shell.Quote(name)
		}
		return "{ " + strings.Join(cats, "; echo; echo ---; ") + "; } | " + line
	case len(r.files) > 1:
		return "cat " + quoted(r.files) + " | " + line
	}
	return line
}

// sentArguments returns the curl arguments for a body.
func sentArguments(r request) []string {
	kind := r.kind
	if kind == "" {
		kind = "application/json"
	}
	head := []string{"-H", shell.Quote("Content-Type: " + kind), "--data-binary"}
	switch {
	case len(r.files) == 1:
		return append(head, shell.Quote("@"+r.files[0]))
	case len(r.files) > 1:
		return append(head, "@-")
	case len(r.body) == 0:
		return nil
	}
	return []string{head[0], head[1], "--data", shell.Quote(withoutSecrets(r.body))}
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

// isPrivate reports whether command-line words contain a secret.
func isPrivate(words []string) bool {
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
func (c *client) afterwards(ctx context.Context, r request) (string, error) {
	now, err := c.exchange(ctx, request{method: http.MethodGet, path: "/config", query: url.Values{"format": {"yaml"}}})
	if err != nil {
		return "", err
	}
	a, err := c.exchange(ctx, r.tried())
	if err != nil {
		return "", err
	}
	var body struct{ Params struct{ Diff string } }
	if err := a.into(&body); err != nil {
		return "", err
	}
	part, err := excerpt.After(string(now.raw), body.Params.Diff)
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
func nameOfNew(a answer) string {
	var body struct{ Params map[string]any }
	if a.into(&body) != nil {
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

// documentType is the content type of a document.
const documentType = "application/yaml"
