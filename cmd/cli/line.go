package cli

import (
	"context"
	"encoding/json"
	"net/http"
	"net/url"
	"os"

	"github.com/spf13/pflag"
)

// client is a command line: the appliance, the common flags, and the state of the command.
type client struct {
	api apiClient

	words words // of all commands

	color             string
	json, quiet       bool
	showAPI, showYAML bool
	onlyReads         bool // during --watch

	confirm, guard string // of a change that is reverted automatically
	dryRun, yes    bool
	force          bool     // although resolvers reject a signed zone afterwards
	running        *running // the command that makes changes

	// Results of requests.
	before  string        // end of the pending period of the last change
	made    string        // name of the last object created
	asked   string        // with showAPI: the last read request
	shown   []string      // with showAPI and showYAML: output instead of changes
	tried   []triedChange // with dryRun
	sawDiff bool          // the difference was shown before a question
}

func (c *client) addFlags(flags *pflag.FlagSet) {
	flags.StringVar(&c.api.data, "data", envOr("SLUICE_DATA", DefaultData()), "data directory of the appliance (SLUICE_DATA)")
	flags.StringVar(&c.api.url, "url", "", "address of a remote appliance, e.g. https://host:444")
	flags.StringVar(&c.api.key, "key", "", "API key for --url; prefer SLUICE_KEY, which other users cannot see")
	flags.StringVar(&c.api.cacert, "cacert", "", "file with the certificate that verifies --url")
	flags.BoolVar(&c.api.insecure, "insecure", false, "do not verify the certificate of --url")
	flags.BoolVar(&c.json, "json", false, "print the API's response as JSON")
	flags.BoolVarP(&c.quiet, "quiet", "q", false, "print errors only; commands that create an object print its name")
	flags.BoolVar(&c.showAPI, "show-api", false, "print the API call as a curl command, and change nothing")
	flags.StringVar(&c.color, "color", "auto", "auto, always or never; NO_COLOR means never")
}

func envOr(name, fallback string) string {
	if v := os.Getenv(name); v != "" {
		return v
	}
	return fallback
}

// do sends the request and returns the response, or an error with the remedy. Changes may be
// shown instead of sent.
func (c *client) do(ctx context.Context, r request) (answer, error) {
	if done, err := c.instead(ctx, r); done {
		return answer{}, err
	}
	r, err := c.confirmed(ctx, r)
	if err != nil {
		return answer{}, err
	}
	return c.exchange(ctx, r)
}

// exchange sends a request with the flags of pending changes, and notes what it created.
func (c *client) exchange(ctx context.Context, r request) (answer, error) {
	r.query = c.onTrial(r.method, r.query)
	a, err := c.api.exchange(ctx, r)
	if err != nil {
		return answer{}, err
	}
	c.before = a.header.Get("Confirm-Before")
	if r.method == http.MethodPost || a.status == http.StatusCreated { // the Zevenet API returns 200 for some creations
		c.made = nameOfNew(a)
	}
	return a, nil
}

// get sends a GET request.
func (c *client) get(ctx context.Context, path string) (answer, error) {
	return c.do(ctx, request{method: http.MethodGet, path: path})
}

// brief is get of a farm or of zones without the records of zones, unless the response
// itself is printed (--json).
func (c *client) brief(ctx context.Context, path string) (answer, error) {
	r := request{method: http.MethodGet, path: path}
	if !c.json {
		r.query = url.Values{"records": {"count"}}
	}
	return c.do(ctx, r)
}

// send sends fields with a method.
func (c *client) send(ctx context.Context, method, path string, fields map[string]any) (answer, error) {
	body, err := json.Marshal(fields)
	if err != nil {
		return answer{}, err
	}
	return c.do(ctx, request{method: method, path: path, body: body})
}
