"""What a person's script does on GitCode, by gitcode-api: acts on the forge and reads it back.

It takes one JSON object from its standard input and says nothing unless something is wrong.
"""

import json
import sys

from gitcode_api import GitCode
from gitcode_api.exceptions import GitCodeHTTPStatusError

story = json.load(sys.stdin)
owner, repo = story["project"].split("/")
client = GitCode(
    api_key=story["token"], owner=owner, repo=repo, base_url=story["url"] + "/api/v5"
)
me = client.users.me()
assert me.login == story["login"] and isinstance(me.id, str), me
assert client.repos.get().full_name == story["project"]
permission = client.members.get_permission(username=story["login"])
assert permission.permission == "write" and permission.id == me.id, permission

# The conversation of an issue, over several pages.
issue = client.issues.get(number=1)
assert issue.state == "open" and issue.number == "1", issue
for number in range(45):
    client.issues.create_comment(number=1, body=f"comment {number}")
pages = [client.issues.list_comments(number=1, page=page, per_page=20) for page in (1, 2, 3, 4)]
assert [len(page) for page in pages] == [20, 20, 5, 20]
assert [one.id for one in pages[3]] == [one.id for one in pages[0]], "the first page comes again"
listed = [comment for page in pages[:3] for comment in page]
assert sorted(comment.body for comment in listed) == sorted(f"comment {n}" for n in range(45))
for comment in listed[1:]:
    client.issues.delete_comment(comment_id=comment.id)
client.issues.update_comment(comment_id=listed[0].id, body="the only comment")
assert client.issues.get_comment(comment_id=listed[0].id).body == "the only comment"

# Comments of a change, on code and beside it.
made = client.pulls.create_comment(number=1, body="why?", path="src/lib.rs", position=5)
talk = client.pulls.create_comment(number=1, body="hello")
comments = client.pulls.list_comments(number=1, page=1, per_page=100)
kinds = {comment.comment_type: comment for comment in comments}
assert sorted(kinds) == ["diff_comment", "pr_comment"], kinds
read = client.pulls.get_comment(comment_id=kinds["diff_comment"].id)
assert read.body == "why?" and read.comment_type == "DiffNote", read
client.pulls.update_comment(comment_id=kinds["pr_comment"].id, body="hello again")
try:
    client.pulls.get_comment(comment_id=listed[0].id)
    raise AssertionError("a comment of an issue was found on a change")
except GitCodeHTTPStatusError as error:
    assert error.status_code == 404, error

# Branches, files and changes.
change = client.pulls.get(number=1)
client.branches.create(branch="more/work", ref=change.head.sha)
branch = client.branches.get(branch="more/work")
assert branch.commit.id == change.head.sha and not branch.protected
opened = client.pulls.create(title="More work", head="more/work", base="main", draft=True)
assert opened.draft and opened.diff_refs.head_sha == change.head.sha
assert not client.pulls.update(number=opened.number, draft=False).draft
listed = client.pulls.list(state="open", direction="desc", page=1, per_page=20)
assert [one.number for one in listed] == [opened.number, 1]
