package console

import (
	"net/http"
	"slices"
	"strings"

	"google.golang.org/grpc/codes"
	"google.golang.org/grpc/status"

	memoryv1 "github.com/stratamem/strata/api/memory/v1"
)

// loginData is what the login page shows.
type loginData struct {
	Next, Fault string
}

// home leads to the users, or to the work for those who see no user.
func (v *visit) home() error {
	_, err := v.api.users.ListUsers(v.ctx(), &memoryv1.ListUsersRequest{PageSize: 1})
	if status.Code(err) == codes.PermissionDenied {
		v.redirect("jobs", nil)
		return nil
	}
	if err != nil {
		return err
	}
	v.redirect("users", nil)
	return nil
}

func (v *visit) showLogin() error {
	return v.show("login.html", page{Title: v.words.of("login.title"), Data: loginData{Next: safeNext(v.r.URL.Query().Get("next"))}})
}

// login exchanges a key's token for a session, if the API takes it.
func (v *visit) login() error {
	token, next := strings.TrimSpace(v.r.PostFormValue("key")), safeNext(v.r.PostFormValue("next"))
	again := func(fault string) error {
		return v.showAs(http.StatusUnauthorized, "login.html", page{Title: v.words.of("login.title"), Data: loginData{Next: next, Fault: v.words.of(fault)}})
	}
	if token == "" || len(token) > maxTokenBytes || strings.ContainsFunc(token, func(r rune) bool { return r <= ' ' || r > '~' }) {
		return again("login.malformed")
	}
	_, err := v.clientsWith(token).users.ListUsers(v.ctx(), &memoryv1.ListUsersRequest{PageSize: 1})
	switch status.Code(err) {
	case codes.Unauthenticated:
		return again("login.refused")
	case codes.OK, codes.PermissionDenied: // some may not see users, and are known all the same
	default:
		return err
	}
	if err := v.sessions.set(v.w, v.r, v.sessions.begin(token)); err != nil {
		return err
	}
	v.redirectTo(next)
	return nil
}

// logout ends the session.
func (v *visit) logout() error {
	v.sessions.end(v.session)
	if err := v.sessions.set(v.w, v.r, v.sessions.begin("")); err != nil {
		return err
	}
	v.redirect("login", nil)
	return nil
}

// chooseLanguage keeps the language of the pages for a year.
func (v *visit) chooseLanguage() error {
	chosen := v.r.PostFormValue("language")
	if slices.Contains(v.Console.words.languages, chosen) {
		http.SetCookie(v.w, &http.Cookie{
			Name: languageCookie, Value: chosen, Path: Path, MaxAge: 365 * 24 * 60 * 60,
			HttpOnly: true, SameSite: http.SameSiteStrictMode, Secure: isEncrypted(v.r),
		})
	}
	v.redirectTo(safeNext(v.r.PostFormValue("next")))
	return nil
}
