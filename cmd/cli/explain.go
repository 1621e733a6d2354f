package cli

import (
	"cmp"
	"errors"
	"fmt"
	"net/http"
	"net/netip"
	"slices"

	"github.com/spf13/cobra"

	"github.com/sluicelb/sluice/core/explain"
)

func (c *client) explainCommand() *cobra.Command {
	cmd := &cobra.Command{
		Use: "explain FARM [URL]", Short: "Show where a request or connection would go, or what a name is answered with, and why",
		Long: `Show where a request would go, and why, without sending it: the services that
were tried and why each did not match, what rules change, the session, each
backend and why it is chosen or not, and the request as the backend would get
it; with --answer also what rules make of an answer with these headers. The
running engine finds that out the way it does for traffic; nothing is counted,
and no session is made.

URL is a path or a whole URL. For farms of profile l4xnat there is none, for
those of profile gslb it is the name that is asked for. Values of headers that
let their owner in are masked, keys of sessions shown as digests.`,
		Example: `  sluice explain shop /cart?id=1
  sluice explain shop https://a.example/ -H 'Cookie: sid=1' --from 192.0.2.7
  sluice explain shop / --answer 'Server: Apache'
  sluice explain shop /upload -X POST -H 'Content-Length: 9000000' --json
  sluice explain dns --from 192.0.2.7:5353 --to 192.0.2.10:53 --protocol udp
  sluice explain names www.example.com --type AAAA --from 203.0.113.0/24`,
		Args: between(1, 2), ValidArgsFunction: c.completer(oneFarm, nil),
	}
	headers := cmd.Flags().StringArrayP("header", "H", nil, "a header of the request, as 'Name: value'; may be repeated")
	answer := cmd.Flags().StringArray("answer", nil, "a header of an answer of the backend, as 'Name: value', or first its status line; may be repeated")
	method := cmd.Flags().StringP("method", "X", http.MethodGet, "method of the request")
	sni := cmd.Flags().String("sni", "", "name TLS is asked for (default that of the URL or of the header Host)")
	from := cmd.Flags().String("from", "", "address the request comes from (default 127.0.0.1); for l4xnat with or without a port, for gslb also a net")
	kind := cmd.Flags().String("type", "", "type a gslb farm is asked for (default A)")
	to := cmd.Flags().String("to", "", "address of an l4xnat farm that is connected to, with or without a port (default its first)")
	protocol := cmd.Flags().String("protocol", "", "what the client of an l4xnat farm speaks, tcp or udp (default what the farm takes, tcp of both)")
	cmd.RunE = func(cmd *cobra.Command, args []string) error {
		url := ""
		fields := map[string]any{}
		if len(args) == 2 {
			url = args[1]
			var err error
			if isName(url) {
				fields["name"] = url
			} else if fields, err = explainBody(url, *method, *headers, *answer); err != nil {
				return err
			}
		}
		for name, text := range map[string]string{"from": *from, "to": *to, "protocol": *protocol, "sni": *sni, "type": *kind} {
			if text != "" {
				fields[name] = text
			}
		}
		if _, err := netip.ParseAddr(*from); *from != "" && url != "" && !isName(url) && err != nil {
			return usagef("--from: %q is no address", *from)
		}
		path, err := pathOf("farms", args[0], "explain")
		if err != nil {
			return err
		}
		a, err := c.send(cmd.Context(), http.MethodPost, path, fields)
		if api, is := errors.AsType[*apiError](err); is && api.status == http.StatusBadRequest && len(fields) == 0 {
			return usagef("what is asked for is missing: write a path or a whole URL, as sluice explain %[1]s /, or a name if the farm answers for names, as sluice explain %[1]s www.example.com", args[0]) // only l4xnat farms have none
		}
		if err != nil || c.json {
			return c.orJSON(cmd, a, err)
		}
		var body struct {
			Params  explain.Explanation
			Warning string
		}
		if err := a.into(&body); err != nil {
			return err
		}
		warn(cmd, body.Warning)
		colored, err := c.colored(cmd.OutOrStdout())
		if err != nil {
			return err
		}
		_, err = fmt.Fprint(cmd.OutOrStdout(), explainText(&body.Params, cmp.Or(*method, http.MethodGet), url, colored))
		return err
	}
	return cmd
}

func explainBody(url, method string, headers, answer []string) (map[string]any, error) {
	fields := map[string]any{"url": url, "method": method}
	switch {
	case url == "":
		return nil, usagef("the URL is empty: write a path, as /, or a whole URL")
	case method == "":
		return nil, usagef("--method: it is empty")
	case slices.Contains(headers, ""):
		return nil, usagef("--header: it is empty: write 'Name: value'")
	case slices.Contains(answer, ""):
		return nil, usagef("--answer: it is empty: write 'Name: value'")
	}
	if len(headers) > 0 {
		fields["headers"] = headers
	}
	if len(answer) > 0 {
		fields["answer"] = answer
	}
	return fields, nil
}
