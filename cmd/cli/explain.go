package cli

import (
	"cmp"
	"errors"
	"fmt"
	"net/http"
	"net/netip"
	"slices"

	"github.com/spf13/cobra"

	"github.com/sluicelb/sluice/cmd/cli/client"
	"github.com/sluicelb/sluice/cmd/cli/command"
	"github.com/sluicelb/sluice/core/explain"
)

func explainCommand(c *command.Line) *cobra.Command {
	cmd := &cobra.Command{
		Use: "explain FARM [URL]", Short: "Show how a request, connection or DNS query would be processed, and why",
		Long: `Show how a request would be processed, and why, without sending it: the services
in the order they are tried and why each does not match, the changes by rules,
the session, the decision for each backend, and the request as the backend would
receive it; with --answer also the response after rules. The running engine
decides as it does for traffic, but it neither counts the request nor creates a
session.

URL is a path or a whole URL. Farms of profile l4xnat need none; for farms of
profile gslb it is the queried name. Header values that contain credentials are
masked, and session keys are shown as digests.`,
		Example: `  sluice explain shop /cart?id=1
  sluice explain shop https://a.example/ -H 'Cookie: sid=1' --from 192.0.2.7
  sluice explain shop / --answer 'Server: Apache'
  sluice explain shop /upload -X POST -H 'Content-Length: 9000000' --json
  sluice explain dns --from 192.0.2.7:5353 --to 192.0.2.10:53 --protocol udp
  sluice explain names www.example.com --type AAAA --from 203.0.113.0/24`,
		Args: command.Between(1, 2), ValidArgsFunction: c.Completer(command.OneFarm, nil),
	}
	headers := cmd.Flags().StringArrayP("header", "H", nil, "request header, e.g. 'Cookie: sid=1'; may be repeated")
	answer := cmd.Flags().StringArray("answer", nil, "response header of the backend, e.g. 'Server: Apache', or first its status line; may be repeated")
	method := cmd.Flags().StringP("method", "X", http.MethodGet, "request method")
	sni := cmd.Flags().String("sni", "", "server name (SNI) of the TLS handshake (default the host of the URL or of the Host header)")
	from := cmd.Flags().String("from", "", "client address (default 127.0.0.1); with or without a port for l4xnat, also a network for gslb")
	kind := cmd.Flags().String("type", "", "type of the DNS query to a gslb farm (default A)")
	to := cmd.Flags().String("to", "", "destination address of the connection to an l4xnat farm, with or without a port (default its first)")
	protocol := cmd.Flags().String("protocol", "", "protocol of the client of an l4xnat farm, tcp or udp (default that of the farm; tcp if it has both)")
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
			return command.Usagef("--from: %q is not an address", *from)
		}
		path, err := client.Path("farms", args[0], "explain")
		if err != nil {
			return err
		}
		a, err := c.Send(cmd.Context(), http.MethodPost, path, fields)
		if api, is := errors.AsType[*client.Error](err); is && api.Status == http.StatusBadRequest && len(fields) == 0 {
			return command.Usagef("missing URL or name: give a path or URL (sluice explain %[1]s /) or, for a gslb farm, a name (sluice explain %[1]s www.example.com)", args[0]) // only l4xnat farms have none
		}
		if err != nil || c.JSON {
			return c.FinishJSON(cmd, a, err)
		}
		var body struct {
			Params  explain.Explanation
			Warning string
		}
		if err := a.Decode(&body); err != nil {
			return err
		}
		command.Warn(cmd, body.Warning)
		colored, err := c.Colored(cmd.OutOrStdout())
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
		return nil, command.Usagef("the URL is empty: give a path, e.g. /, or a whole URL")
	case method == "":
		return nil, command.Usagef("--method is empty")
	case slices.Contains(headers, ""):
		return nil, command.Usagef("--header is empty: write 'Name: value'")
	case slices.Contains(answer, ""):
		return nil, command.Usagef("--answer is empty: write 'Name: value'")
	}
	if len(headers) > 0 {
		fields["headers"] = headers
	}
	if len(answer) > 0 {
		fields["answer"] = answer
	}
	return fields, nil
}
