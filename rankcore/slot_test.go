package rankcore

import (
	"reflect"
	"sync"
	"testing"
	"time"
)

// fill gives every field of a struct a value of its own, so that one that is forgotten shows.
func fill(v reflect.Value, skip string) {
	for i := range v.NumField() {
		f := v.Field(i)
		if v.Type().Field(i).Name == skip || !f.CanSet() {
			continue
		}
		switch n := int64(i + 7); f.Kind() {
		case reflect.String:
			f.SetString("x" + v.Type().Field(i).Name)
		case reflect.Bool:
			f.SetBool(true)
		case reflect.Int, reflect.Int64:
			f.SetInt(n)
		case reflect.Uint8, reflect.Uint32, reflect.Uint64:
			f.SetUint(uint64(n))
		case reflect.Float64:
			f.SetFloat(float64(n))
		case reflect.Slice:
			f.Set(reflect.MakeSlice(f.Type(), 1, 1))
		case reflect.Struct:
			fill(f, skip)
		default:
			panic("a field of a kind this test does not know: " + v.Type().Field(i).Name)
		}
	}
}

// differing are the fields in which a and b differ, but for Meta and Slot.
func differing(a, b reflect.Value) (names []string) {
	for i := range a.NumField() {
		if name := a.Type().Field(i).Name; name != "Meta" && name != "Slot" && !reflect.DeepEqual(a.Field(i).Interface(), b.Field(i).Interface()) {
			names = append(names, name)
		}
	}
	return names
}

// With changes what an answer says of itself and nothing else, and its slot is empty: what was encoded before says
// something else.
func TestWithKeepsTheRest(t *testing.T) {
	m := Meta{Season: "all", Status: Stale, Reason: CoreSlow, AsOf: time.Unix(1, 0), Total: 5}

	page := &Page{}
	fill(reflect.ValueOf(page).Elem(), "Slot")
	page.Slot.Fill("form")
	if other := page.With(m); other.Meta != m || other.Slot.Form() != nil || differing(reflect.ValueOf(page).Elem(), reflect.ValueOf(other).Elem()) != nil {
		t.Errorf("%v of the page differ: %+v", differing(reflect.ValueOf(page).Elem(), reflect.ValueOf(other).Elem()), other.Meta)
	}
	standing := &Standing{}
	fill(reflect.ValueOf(standing).Elem(), "Slot")
	standing.Slot.Fill("form")
	if other := standing.With(m); other.Meta != m || other.Slot.Form() != nil || differing(reflect.ValueOf(standing).Elem(), reflect.ValueOf(other).Elem()) != nil {
		t.Errorf("%v of the standing differ: %+v", differing(reflect.ValueOf(standing).Elem(), reflect.ValueOf(other).Elem()), other.Meta)
	}
}

// Of many who fill a slot at once, one does, and all get its form.
func TestSlotIsFilledOnce(t *testing.T) {
	var slot Slot
	if slot.Form() != nil {
		t.Error("a new slot has a form")
	}
	got := make([]any, 8)
	var all sync.WaitGroup
	for i := range got {
		all.Go(func() { got[i] = slot.Fill(&i) })
	}
	all.Wait()
	for i := range got {
		if got[i] != slot.Form() {
			t.Errorf("%d got another form than is kept", i)
		}
	}
}
