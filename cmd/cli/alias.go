package cli

import (
	"encoding/json"
	"net/http"
	"net/netip"

	"github.com/spf13/cobra"

	"github.com/sluicelb/sluice/cmd/cli/client"
	"github.com/sluicelb/sluice/cmd/cli/command"
	"github.com/sluicelb/sluice/cmd/cli/show"
)

func aliasCommand(c *command.Line) *cobra.Command {
	return command.Parent("alias", "Aliases for addresses of backends and for interfaces", "  sluice alias set 10.0.0.11 db-1\n  sluice alias set eth0 office\n  sluice alias list",
		aliasList(c), aliasSet(c), aliasDelete(c))
}

// aliasKinds are the lists of aliases: for addresses and for interfaces.
var aliasKinds = []string{"backends", "interfaces"}

// aliasPath returns the path of the alias of an address or interface.
func aliasPath(id string) (string, error) {
	kind := aliasKinds[1]
	if _, err := netip.ParseAddr(id); err == nil {
		kind = aliasKinds[0]
	}
	return client.Path("aliases", kind, id)
}

func aliasList(c *command.Line) *cobra.Command {
	return &cobra.Command{
		Use: "list [backends|interfaces]", Short: "List aliases", Example: "  sluice alias list\n  sluice alias list interfaces", Args: command.AtMost(1),
		ValidArgsFunction: cobra.FixedCompletions(aliasKinds, cobra.ShellCompDirectiveNoFileComp),
		RunE: func(cmd *cobra.Command, args []string) error {
			kinds := aliasKinds
			if len(args) == 1 {
				kinds = args
			}
			both := map[string]json.RawMessage{}
			s := show.NewSheet("OF", "ALIAS")
			for _, kind := range kinds {
				path, err := client.Path("aliases", kind)
				if err != nil {
					return err
				}
				a, err := c.Get(cmd.Context(), path)
				if err != nil || c.JSON && len(kinds) == 1 {
					return c.FinishJSON(cmd, a, err)
				}
				both[kind] = a.Body
				var body struct{ Params []struct{ ID, Alias string } }
				if err := a.Decode(&body); err != nil {
					return err
				}
				for _, v := range body.Params {
					s.Add(v.ID, v.Alias)
				}
			}
			if c.JSON { // the response of each kind, by its name
				return json.NewEncoder(cmd.OutOrStdout()).Encode(both)
			}
			return c.Print(cmd, s)
		},
	}
}

func aliasSet(c *command.Line) *cobra.Command {
	return &cobra.Command{
		Use: "set ID ALIAS", Short: "Give an address or an interface an alias", Args: command.Exactly(2), ValidArgsFunction: c.Completer([]command.Argument{command.AliasID}, nil),
		Long: `Set or replace the alias of an address or an interface. Lists show backends at
that address by the alias, unless the backend has an alias of its own.`,
		Example: "  sluice alias set 10.0.0.11 db-1\n  sluice alias set eth0 office",
		RunE: func(cmd *cobra.Command, args []string) error {
			path, err := aliasPath(args[0])
			if err != nil {
				return err
			}
			a, err := c.Send(cmd.Context(), http.MethodPut, path, map[string]any{"alias": args[1]})
			return c.Finish(cmd, a, err)
		},
	}
}

func aliasDelete(c *command.Line) *cobra.Command {
	return &cobra.Command{
		Use: "delete ID", Short: "Delete the alias of an address or an interface", Args: command.Exactly(1), Example: "  sluice alias delete 10.0.0.11", ValidArgsFunction: c.Completer([]command.Argument{command.AliasID}, nil),
		RunE: func(cmd *cobra.Command, args []string) error {
			path, err := aliasPath(args[0])
			if err != nil {
				return err
			}
			return c.DeleteAt(cmd, path)
		},
	}
}
