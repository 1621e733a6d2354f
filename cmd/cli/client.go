package cli

import (
	"bytes"
	"cmp"
	"context"
	"crypto/tls"
	"crypto/x509"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"io/fs"
	"net"
	"net/http"
	"net/url"
	"os"
	"path/filepath"
	"strings"
	"syscall"
	"time"

	"github.com/spf13/pflag"
)

// Socket is the name of the control socket in the data directory.
const Socket = "mgmt.sock"

const base = "/api/v4.0"

// client accesses one appliance. Flags set its fields.
type client struct {
	data, url, key, cacert, color string
	insecure, json                bool

	quiet             bool
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
	flags.StringVar(&c.data, "data", envOr("SLUICE_DATA", DefaultData()), "data directory of the appliance (SLUICE_DATA)")
	flags.StringVar(&c.url, "url", "", "address of a remote appliance, e.g. https://host:444")
	flags.StringVar(&c.key, "key", "", "API key for --url; prefer SLUICE_KEY, which other users cannot see")
	flags.StringVar(&c.cacert, "cacert", "", "file with the certificate that verifies --url")
	flags.BoolVar(&c.insecure, "insecure", false, "do not verify the certificate of --url")
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

// DefaultData returns the default data directory: /var/lib/sluice for root, otherwise a
// directory below the user's state directory.
func DefaultData() string { return defaultData(os.Geteuid() == 0) }

func defaultData(root bool) string {
	if root {
		return "/var/lib/sluice"
	}
	if dir := os.Getenv("XDG_STATE_HOME"); dir != "" {
		return filepath.Join(dir, "sluice")
	}
	home, err := os.UserHomeDir()
	if err != nil {
		home = "/"
	}
	return filepath.Join(home, ".local", "state", "sluice")
}

// timeout bounds one request. A change may wait 20 s for the engine.
const timeout = 60 * time.Second

// maxAnswer bounds the bytes of a response. The export of a zone of a million records has
// about 100 MiB.
var maxAnswer = 1 << 30

// answer is a response.
type answer struct {
	raw    []byte
	header http.Header
}

// into decodes the response.
func (a answer) into(to any) error {
	if err := json.Unmarshal(a.raw, to); err != nil {
		return fmt.Errorf("invalid response of the appliance: %w", err)
	}
	return nil
}

// request is a request; body may be nil.
type request struct {
	method, path string
	query        url.Values
	body         []byte
	files        []string      // sources of the body, - for standard input; none if it was generated
	kind         string        // content type, JSON when empty
	match        string        // If-Match
	wait         time.Duration // for the response; 0 means timeout
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

// exchange sends a request and reads the response.
func (c *client) exchange(ctx context.Context, r request) (answer, error) {
	transport, address, err := c.transport()
	if err != nil {
		return answer{}, err
	}
	defer transport.CloseIdleConnections()
	ctx, cancel := context.WithTimeout(ctx, cmp.Or(r.wait, timeout))
	defer cancel()
	target := address + base + r.path
	if query := c.onTrial(r.method, r.query); len(query) > 0 {
		target += "?" + query.Encode()
	}
	req, err := http.NewRequestWithContext(ctx, r.method, target, bytes.NewReader(r.body))
	if err != nil {
		return answer{}, usagef("--url: %v", err)
	}
	c.setHeaders(req, r)
	resp, err := transport.RoundTrip(req)
	if err != nil {
		return answer{}, c.explain(err)
	}
	defer resp.Body.Close()
	raw, err := readAnswer(resp.Body)
	if err != nil {
		return answer{}, err
	}
	if resp.StatusCode >= 300 {
		return answer{}, refused(resp.StatusCode, raw, c.apiKey() != "")
	}
	a := answer{raw: raw, header: resp.Header}
	c.before = resp.Header.Get("Confirm-Before")
	if r.method == http.MethodPost || resp.StatusCode == http.StatusCreated { // the Zevenet API returns 200 for some creations
		c.made = nameOfNew(a)
	}
	return a, nil
}

// readAnswer reads a whole response. One that is too long is an error, because the
// beginning of a document or backup looks like the whole.
func readAnswer(body io.Reader) ([]byte, error) {
	raw, err := io.ReadAll(io.LimitReader(body, int64(maxAnswer)+1))
	if err == nil && len(raw) > maxAnswer {
		err = fmt.Errorf("it has more than %d bytes", maxAnswer)
	}
	if err != nil {
		return nil, fmt.Errorf("read the response: %w", err)
	}
	return raw, nil
}

func (c *client) setHeaders(req *http.Request, r request) {
	if len(r.body) > 0 {
		req.Header.Set("Content-Type", "application/json")
	}
	if r.kind != "" {
		req.Header.Set("Content-Type", r.kind)
	}
	if r.match != "" {
		req.Header.Set("If-Match", r.match)
	}
	req.Header.Set("User-Agent", "sluice/"+Version)
	if key := c.apiKey(); key != "" {
		req.Header.Set("ZAPI_KEY", key)
	}
}

// apiKey returns the key to send. Over the local socket only a key given by flag is used,
// because one in the environment may be for another appliance.
func (c *client) apiKey() string {
	if c.key != "" || c.url == "" {
		return c.key
	}
	return os.Getenv("SLUICE_KEY")
}

// transport returns the transport and the address of the appliance.
func (c *client) transport() (*http.Transport, string, error) {
	if c.url == "" && c.data == "" {
		return nil, "", usagef("--data is empty: give the data directory of the appliance")
	}
	if c.url == "" {
		path := filepath.Join(c.data, Socket)
		return &http.Transport{DialContext: func(ctx context.Context, _, _ string) (net.Conn, error) {
			var d net.Dialer
			return d.DialContext(ctx, "unix", path)
		}}, "http://localhost", nil
	}
	u, err := url.Parse(c.url)
	if err != nil || u.Scheme != "https" || u.Host == "" || strings.Trim(u.Path, "/") != "" || u.RawQuery != "" || u.User != nil {
		return nil, "", usagef("--url: %q must be https://host:port", c.url)
	}
	config := &tls.Config{MinVersion: tls.VersionTLS12, InsecureSkipVerify: c.insecure}
	if c.cacert != "" {
		pem, err := os.ReadFile(c.cacert)
		if err != nil {
			return nil, "", fmt.Errorf("--cacert: %w", err)
		}
		config.RootCAs = x509.NewCertPool()
		if !config.RootCAs.AppendCertsFromPEM(pem) {
			return nil, "", fmt.Errorf("--cacert: no certificate in %s", c.cacert)
		}
	}
	return &http.Transport{TLSClientConfig: config, Proxy: http.ProxyFromEnvironment}, "https://" + u.Host, nil
}

// notRunning means that no appliance runs in a data directory.
type notRunning struct{ data string }

func (e *notRunning) Error() string {
	if rootData := defaultData(true); e.data == defaultData(false) && e.data != rootData {
		if _, err := os.Stat(rootData); err == nil {
			return fmt.Sprintf("no running sluice in %s, but root has one in %s: use sudo sluice, or start your own with `sluice run`", e.data, rootData)
		}
	}
	return fmt.Sprintf("no running sluice in %s: start it with `sluice run` or point --data to its data directory", e.data)
}

// explain adds the remedy to the error of a failed request.
func (c *client) explain(err error) error {
	var unknown x509.UnknownAuthorityError
	var wrongName x509.HostnameError
	switch {
	case errors.Is(err, context.Canceled):
		return errors.New("interrupted")
	case errors.Is(err, context.DeadlineExceeded):
		return errors.New("the appliance did not respond in time")
	case c.url == "" && (errors.Is(err, fs.ErrNotExist) || errors.Is(err, syscall.ECONNREFUSED)):
		return &notRunning{c.data}
	case c.url == "" && errors.Is(err, fs.ErrPermission):
		return fmt.Errorf("no permission for the control socket in %s: use sudo, run as the user of sluice, or use --url with a key", c.data)
	case errors.As(err, &unknown), errors.As(err, &wrongName):
		return fmt.Errorf("%w: give its certificate with --cacert FILE, or use --insecure if you trust the network", err)
	case c.url != "":
		return fmt.Errorf("%s cannot be reached: %w", c.url, err)
	default:
		return err
	}
}

// apiError is an error response of the appliance.
type apiError struct {
	status  int
	message string
	body    []byte
}

func (e *apiError) Error() string { return e.message }

// refused returns the error for an error response; withKey means that a key was sent.
func refused(status int, raw []byte, withKey bool) error {
	var body struct{ Message string }
	if json.Unmarshal(raw, &body) != nil || body.Message == "" {
		body.Message = fmt.Sprintf("the appliance responded with status %d", status)
	}
	switch {
	case status == http.StatusUnauthorized && withKey:
		body.Message = "access denied: this appliance does not know the key, or it was deleted (create one there with `sluice key create`)"
	case status == http.StatusUnauthorized:
		body.Message = "access denied: give a key with SLUICE_KEY or --key (create one on the appliance with `sluice key create`)"
	}
	return &apiError{status: status, message: body.Message, body: raw}
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

// pathOf joins names into a path. It refuses names that are invalid in the API, so that they
// cannot form another path. A zone may contain a slash, and the root zone is @.
func pathOf(parts ...string) (string, error) {
	var out strings.Builder
	for i, part := range parts {
		escaped := url.PathEscape(part)
		if part == "." && i > 0 && parts[i-1] == "zones" {
			part, escaped = "@", "@" // the root zone
		}
		whole := escaped == part || i > 0 && parts[i-1] == "zones" && strings.ReplaceAll(escaped, "%2F", "/") == part
		if part == "" || !whole || part == "." || part == ".." {
			return "", fmt.Errorf("%q is not a valid name", part)
		}
		out.WriteString("/" + escaped)
	}
	return out.String(), nil
}
