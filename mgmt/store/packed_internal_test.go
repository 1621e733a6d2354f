package store

import (
	"encoding/json"
	"errors"
	"net/netip"
	"reflect"
	"strings"
	"testing"

	bolt "go.etcd.io/bbolt"

	"github.com/sluicelb/sluice/core/farm"
)

// fill sets everything in a value that can be stored to non-zero values.
func fill(t *testing.T, v reflect.Value) {
	t.Helper()
	switch at := v.Addr().Interface().(type) {
	case *netip.Addr:
		*at = netip.MustParseAddr("192.0.2.1")
		return
	case *netip.Prefix:
		*at = netip.MustParsePrefix("192.0.2.0/24")
		return
	}
	switch v.Kind() {
	case reflect.Struct:
		for i := range v.NumField() {
			f := v.Type().Field(i)
			if name, _, _ := strings.Cut(f.Tag.Get("json"), ","); name != "-" && f.IsExported() {
				fill(t, v.Field(i))
			}
		}
	case reflect.Pointer:
		v.Set(reflect.New(v.Type().Elem()))
		fill(t, v.Elem())
	case reflect.Slice:
		v.Set(reflect.MakeSlice(v.Type(), 1, 1))
		fill(t, v.Index(0))
	case reflect.Array:
		fill(t, v.Index(v.Len()-1))
	case reflect.Map:
		key, value := reflect.New(v.Type().Key()).Elem(), reflect.New(v.Type().Elem()).Elem()
		fill(t, key)
		fill(t, value)
		v.Set(reflect.MakeMap(v.Type()))
		v.SetMapIndex(key, value)
	case reflect.String:
		v.SetString("a")
	case reflect.Bool:
		v.SetBool(true)
	case reflect.Int, reflect.Int8, reflect.Int16, reflect.Int32, reflect.Int64:
		v.SetInt(1)
	case reflect.Uint, reflect.Uint8, reflect.Uint16, reflect.Uint32, reflect.Uint64:
		v.SetUint(1)
	case reflect.Float32, reflect.Float64:
		v.SetFloat(1)
	default:
		t.Fatalf("no value of the kind %s", v.Type())
	}
}

// All of a configuration is stored, including fields that engines do not get.
func TestEverythingInAConfigurationIsKept(t *testing.T) {
	cfg := farm.Config{}
	for _, part := range []any{&cfg.Farms, &cfg.System, &cfg.Checks} {
		fill(t, reflect.ValueOf(part).Elem())
	}
	want := &snapshot{Config: &cfg}
	fill(t, reflect.ValueOf(&want.Author).Elem())
	record, err := sealRevision(want.entry(), nil)
	if err != nil {
		t.Fatal(err)
	}
	got, err := readSnapshot(record)
	if err != nil || !reflect.DeepEqual(got, want) {
		is, _ := json.MarshalIndent(got, "", " ")
		was, _ := json.MarshalIndent(want, "", " ")
		t.Errorf("%v\nit is\n%s\nand was\n%s", err, is, was)
	}
}

// Fields written by a newer release are ignored.
func TestFieldsOfNewerReleasesAreIgnored(t *testing.T) {
	record := sequence(t, map[string]any{"number": 3, "author": "ann", "mood": "good"}, map[string]any{"whole": true, "weather": []int{1}},
		[]any{map[string]any{"id": 5, "name": "shop", "colour": "red"}, map[string]any{"comment": "ours"}})
	now, err := readSnapshot(record)
	if err != nil || now.Author != "ann" || len(now.Config.Farms) != 1 || now.Config.Farms[0].Name != "shop" || now.Config.Farms[0].Said().Comment != "ours" {
		t.Errorf("%v: %+v", err, now)
	}
	if _, err := readSnapshot(sequence(t, Revision{}, change{})); err == nil {
		t.Error("a change of another revision is the newest configuration")
	}
}

// In layout 4 a newest revision without a configuration means damage.
func TestTheNewestRevisionOfLayout4HasAConfiguration(t *testing.T) {
	s, err := Open(t.TempDir())
	if err != nil {
		t.Fatal(err)
	}
	defer s.Close()
	for name, value := range map[string]any{"none": map[string]int{"number": 1}, "one": wholeRevision{Config: farmsOf("a")}} {
		err := s.db.Update(func(tx *bolt.Tx) error {
			if err := putRecord(tx.Bucket(currentBucket), numberKey(1), value); err != nil {
				return err
			}
			return newestToCBOR(tx)
		})
		if damaged := errors.Is(err, ErrCorrupt); damaged != (name == "none") {
			t.Errorf("%s: %v", name, err)
		}
	}
}
