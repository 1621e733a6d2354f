package apply

import "github.com/sluicelb/sluice/core/farm"

// dropForeignIDs sets to 0 every ID of cfg that no object of old has, and the
// second and later use of one: a copied farm must not share the counters and
// sessions of the original.
func dropForeignIDs(old, cfg *farm.Config) {
	var known [3]map[uint32]bool
	for kind := range known {
		known[kind] = map[uint32]bool{}
	}
	eachID(old, func(kind int, id *uint32) { known[kind][*id] = true })
	eachID(cfg, func(kind int, id *uint32) {
		if !known[kind][*id] {
			*id = 0
		}
		delete(known[kind], *id)
	})
}

// eachID calls do for the IDs of farms (kind 0), services or
// groups of l4xnat farms (1) and backends (2).
func eachID(cfg *farm.Config, do func(kind int, id *uint32)) {
	for i := range cfg.Farms {
		f := &cfg.Farms[i]
		do(0, &f.ID)
		for _, g := range f.Groups() {
			do(1, g.IDAt())
			for k := range g.Backends() {
				do(2, &g.Backends()[k].ID)
			}
		}
	}
}

// giveNumbers gives backends the numbers they are called by.
func giveNumbers(cfg *farm.Config) {
	for i := range cfg.Farms {
		for _, g := range cfg.Farms[i].Groups() {
			g.GiveNumbers()
		}
	}
}
