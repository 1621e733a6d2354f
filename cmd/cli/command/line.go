package command

import (
	"context"
	"encoding/json"
	"net/http"
	"net/url"
	"os"

	"github.com/spf13/pflag"

	"github.com/sluicelb/sluice/cmd/cli/client"
)

// Line is a command line: the appliance, the common flags, and the state of the command.
type Line struct {
	API client.Client

	words Words // of all commands

	Color             string
	JSON, quiet       bool
	ShowAPI, ShowYAML bool
	onlyReads         bool // during --watch

	confirm, guard string // of a change that is reverted automatically
	DryRun, Yes    bool
	force          bool     // although resolvers reject a signed zone afterwards
	Running        *running // the command that makes changes

	// Results of requests.
	pendingUntil string        // end of the pending period of the last change
	created      string        // name of the last object created
	lastRead     string        // with showAPI: the last read request
	shown        []string      // with showAPI and showYAML: output instead of changes
	dryRuns      []triedChange // with dryRun
	diffShown    bool          // the difference was shown before a question
}

// AddFlags adds the flags that all commands have.
func (c *Line) AddFlags(flags *pflag.FlagSet) {
	flags.StringVar(&c.API.Data, "data", envOr("SLUICE_DATA", client.DefaultData()), "data directory of the appliance (SLUICE_DATA)")
	flags.StringVar(&c.API.URL, "url", "", "address of a remote appliance, e.g. https://host:444")
	flags.StringVar(&c.API.Key, "key", "", "API key for --url; prefer SLUICE_KEY, which other users cannot see")
	flags.StringVar(&c.API.CACert, "cacert", "", "file with the certificate that verifies --url")
	flags.BoolVar(&c.API.Insecure, "insecure", false, "do not verify the certificate of --url")
	flags.BoolVar(&c.JSON, "json", false, "print the API's response as JSON")
	flags.BoolVarP(&c.quiet, "quiet", "q", false, "print errors only; commands that create an object print its name")
	flags.BoolVar(&c.ShowAPI, "show-api", false, "print the API call as a curl command, and change nothing")
	flags.StringVar(&c.Color, "color", "auto", "auto, always or never; NO_COLOR means never")
}

func envOr(name, fallback string) string {
	if v := os.Getenv(name); v != "" {
		return v
	}
	return fallback
}

// Do sends the request and returns the response, or an error with the remedy. Changes may be
// shown instead of sent.
func (c *Line) Do(ctx context.Context, r client.Request) (client.Response, error) {
	if done, err := c.instead(ctx, r); done {
		return client.Response{}, err
	}
	r, err := c.confirmed(ctx, r)
	if err != nil {
		return client.Response{}, err
	}
	return c.exchange(ctx, r)
}

// exchange sends a request with the flags of pending changes, and notes what it created.
func (c *Line) exchange(ctx context.Context, r client.Request) (client.Response, error) {
	r.Query = c.withPendingFlags(r.Method, r.Query)
	a, err := c.API.Do(ctx, r)
	if err != nil {
		return client.Response{}, err
	}
	c.pendingUntil = a.Header.Get("Confirm-Before")
	if r.Method == http.MethodPost || a.Status == http.StatusCreated { // the Zevenet API returns 200 for some creations
		c.created = nameOfNew(a)
	}
	return a, nil
}

// Stream calls use for every event of an endless response, with its name, usually empty, and
// its data.
func (c *Line) Stream(ctx context.Context, r client.Request, use func(name, data string) error) error {
	if c.ShowAPI {
		c.lastRead = c.curl(r)
		return ErrShown
	}
	return c.API.Stream(ctx, r, use)
}

// Get sends a GET request.
func (c *Line) Get(ctx context.Context, path string) (client.Response, error) {
	return c.Do(ctx, client.Request{Method: http.MethodGet, Path: path})
}

// GetBrief is Get of a farm or of zones without the records of zones, unless the response
// itself is printed (--json).
func (c *Line) GetBrief(ctx context.Context, path string) (client.Response, error) {
	r := client.Request{Method: http.MethodGet, Path: path}
	if !c.JSON {
		r.Query = url.Values{"records": {"count"}}
	}
	return c.Do(ctx, r)
}

// Send sends fields with a method.
func (c *Line) Send(ctx context.Context, method, path string, fields map[string]any) (client.Response, error) {
	body, err := json.Marshal(fields)
	if err != nil {
		return client.Response{}, err
	}
	return c.Do(ctx, client.Request{Method: method, Path: path, Body: body})
}
