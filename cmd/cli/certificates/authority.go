package certificates

import (
	"net/http"
	"strings"

	"github.com/spf13/cobra"

	"github.com/sluicelb/sluice/cmd/cli/client"
	"github.com/sluicelb/sluice/cmd/cli/command"
	"github.com/sluicelb/sluice/cmd/cli/show"
)

type authorityList struct {
	Name, Status, Problem string
	Certificates          []struct{ CN string }
	CRLs                  []struct{ Issuer string }
	UsedBy                []string `json:"used_by"`
}

func authorityCommand(c *command.Line) *cobra.Command {
	return command.Parent("ca", "Manage lists of authorities that verify clients and backends", `  sluice certificate ca upload clients ca.pem
  sluice farm set shop client_auth=required client_ca=clients
  sluice certificate ca crl clients revoked.crl`,
		authorityAll(c), authorityShow(c),
		authorityUpload(c, "upload NAME FILE…", "Upload a list of authorities under a new name", "  sluice certificate ca upload clients ca.pem", http.MethodPost, cobra.NoFileCompletions),
		authorityUpload(c, "replace NAME FILE…", "Replace a list of authorities", "  sluice certificate ca replace clients ca.pem", http.MethodPut, completeAuthorities(c)),
		authorityCRL(c), authorityDownload(c), authorityDelete(c))
}

// authorityPath is certificatePath for CA lists.
func authorityPath(name string, rest ...string) (string, error) {
	return certificatePath(append([]string{"ca", name}, rest...)...)
}

func authorityAll(c *command.Line) *cobra.Command {
	return &cobra.Command{
		Use: "list", Short: "List the lists of authorities", Example: "  sluice certificate ca list", Args: command.Exactly(0),
		RunE: func(cmd *cobra.Command, _ []string) error {
			a, err := c.Get(cmd.Context(), "/certificates/ca")
			if err != nil || c.JSON {
				return c.FinishJSON(cmd, a, err)
			}
			var body struct{ Params []authorityList }
			if err := a.Decode(&body); err != nil {
				return err
			}
			s := show.NewSheet("NAME", "CERTIFICATES", "CRLS", "STATUS", "PROBLEM", "USED BY")
			for _, v := range body.Params {
				s.Add(v.Name, len(v.Certificates), len(v.CRLs), v.Status, v.Problem, strings.Join(v.UsedBy, ", "))
			}
			return c.Print(cmd, s)
		},
	}
}

func authorityShow(c *command.Line) *cobra.Command {
	return onAuthority(c, "show NAME", "Show the certificates and CRLs of a list", "  sluice certificate ca show clients", func(cmd *cobra.Command, name string) error {
		if c.JSON {
			path, err := authorityPath(name, "status")
			if err != nil {
				return err
			}
			a, err := c.Get(cmd.Context(), path)
			return c.FinishJSON(cmd, a, err)
		}
		path, err := authorityPath(name, "info")
		if err != nil {
			return err
		}
		return c.PrintFile(cmd, path, name)
	})
}

func authorityDownload(c *command.Line) *cobra.Command {
	return onAuthority(c, "download NAME", "Write a list of authorities to standard output", "  sluice certificate ca download clients > ca.pem", func(cmd *cobra.Command, name string) error {
		path, err := authorityPath(name)
		if err != nil {
			return err
		}
		return c.PrintFile(cmd, path, name+".pem")
	})
}

func authorityDelete(c *command.Line) *cobra.Command {
	return onAuthority(c, "delete NAME", "Delete a list of authorities", "  sluice certificate ca delete clients", func(cmd *cobra.Command, name string) error {
		path, err := authorityPath(name)
		if err != nil {
			return err
		}
		return c.DeleteAt(cmd, path)
	})
}

// onAuthority returns a command about one CA list.
func onAuthority(c *command.Line, use, short, example string, run func(*cobra.Command, string) error) *cobra.Command {
	return &cobra.Command{
		Use: use, Short: short, Example: example, Args: command.Exactly(1), ValidArgsFunction: completeAuthorities(c),
		RunE: func(cmd *cobra.Command, args []string) error { return run(cmd, args[0]) },
	}
}

func authorityUpload(c *command.Line, use, short, example, method string, names cobra.CompletionFunc) *cobra.Command {
	return &cobra.Command{
		Use: use, Short: short, Example: example, Args: command.AtLeast(2), ValidArgsFunction: command.ThenFiles(names),
		Long: short + ".\n\nFILEs are PEM or DER and contain certificates and optionally CRLs; - reads\nstandard input.",
		RunE: func(cmd *cobra.Command, args []string) error {
			path, err := authorityPath(args[0])
			if err != nil {
				return err
			}
			return sendFiles(c, cmd, client.Request{Method: method, Path: path}, args[1:], unpacker(cmd, ""))
		},
	}
}

func authorityCRL(c *command.Line) *cobra.Command {
	cmd := &cobra.Command{
		Use: "crl NAME [FILE…]", Short: "Replace the CRLs of a list of authorities, or delete them with --none",
		Example: "  sluice certificate ca crl clients revoked.crl\n  sluice certificate ca crl clients --none", Args: command.AtLeast(1), ValidArgsFunction: command.ThenFiles(completeAuthorities(c)),
	}
	none := cmd.Flags().Bool("none", false, "delete all CRLs: no certificate counts as revoked")
	cmd.RunE = func(cmd *cobra.Command, args []string) error {
		if *none == (len(args) > 1) {
			return command.Usagef("give the FILEs with the CRLs, or --none")
		}
		path, err := authorityPath(args[0], "crl")
		if err != nil {
			return err
		}
		if *none {
			return c.DeleteAt(cmd, path)
		}
		return sendFiles(c, cmd, client.Request{Method: http.MethodPut, Path: path}, args[1:], asIs)
	}
	return cmd
}

func completeAuthorities(c *command.Line) cobra.CompletionFunc {
	return func(cmd *cobra.Command, args []string, _ string) ([]string, cobra.ShellCompDirective) {
		var body struct{ Params []authorityList }
		if len(args) > 0 || !c.FetchCompletions(cmd, "/certificates/ca", &body) {
			return nil, cobra.ShellCompDirectiveNoFileComp
		}
		var out []string
		for _, v := range body.Params {
			out = append(out, v.Name)
		}
		return out, cobra.ShellCompDirectiveNoFileComp
	}
}
