package cli

import (
	"cmp"
	"fmt"
	"net/http"
	"net/netip"
	"slices"

	"github.com/spf13/cobra"

	"github.com/sluicelb/sluice/core/explain"
)

func (c *client) explainCommand() *cobra.Command {
	cmd := &cobra.Command{
		Use: "explain FARM URL", Short: "Show where a request would go, and why, without sending it",
		Long: `Show where a request would go, and why, without sending it: the services that
were tried and why each did not match, what rules change, the session, each
backend and why it is chosen or not, and the request as the backend would get
it. The running engine finds that out the way it does for traffic; nothing is
counted, and no session is made.

URL is a path or a whole URL. Values of headers that let their owner in are
masked, keys of sessions shown as digests.`,
		Example: `  sluice explain shop /cart?id=1
  sluice explain shop https://shop.example.com/ -H 'Cookie: sid=1' --from 192.0.2.7
  sluice explain shop /upload -X POST -H 'Content-Length: 9000000' --json`,
		Args: exactly(2), ValidArgsFunction: c.completer(oneFarm, nil),
	}
	headers := cmd.Flags().StringArrayP("header", "H", nil, "a header of the request, as 'Name: value'; may be repeated")
	method := cmd.Flags().StringP("method", "X", http.MethodGet, "method of the request")
	sni := cmd.Flags().String("sni", "", "name TLS is asked for (default that of the URL or of the header Host)")
	from := cmd.Flags().String("from", "", "address the request comes from (default 127.0.0.1)")
	cmd.RunE = func(cmd *cobra.Command, args []string) error {
		fields, err := explainBody(args[1], *method, *from, *sni, *headers)
		if err != nil {
			return err
		}
		path, err := pathOf("farms", args[0], "explain")
		if err != nil {
			return err
		}
		a, err := c.send(cmd.Context(), http.MethodPost, path, fields)
		if err != nil || c.json {
			return c.orJSON(cmd, a, err)
		}
		var body struct{ Params explain.Explanation }
		if err := a.into(&body); err != nil {
			return err
		}
		colored, err := c.colored(cmd.OutOrStdout())
		if err != nil {
			return err
		}
		_, err = fmt.Fprint(cmd.OutOrStdout(), explainText(&body.Params, cmp.Or(*method, http.MethodGet), args[1], colored))
		return err
	}
	return cmd
}

func explainBody(url, method, from, sni string, headers []string) (map[string]any, error) {
	fields := map[string]any{"url": url, "method": method}
	switch {
	case url == "":
		return nil, usagef("the URL is empty: write a path, as /, or a whole URL")
	case method == "":
		return nil, usagef("--method: it is empty")
	case slices.Contains(headers, ""):
		return nil, usagef("--header: it is empty: write 'Name: value'")
	}
	if from != "" {
		if _, err := netip.ParseAddr(from); err != nil {
			return nil, usagef("--from: %q is no address", from)
		}
		fields["from"] = from
	}
	if sni != "" {
		fields["sni"] = sni
	}
	if len(headers) > 0 {
		fields["headers"] = headers
	}
	return fields, nil
}
